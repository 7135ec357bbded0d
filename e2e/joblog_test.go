package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// write adds lines to the log of a job in its first attempt.
func write(t *testing.T, agent *api.ClientWithResponses, key string, level api.LogLevel, messages ...string) {
	t.Helper()
	batch := api.LogBatch{Job: key, Epoch: 1}
	for _, m := range messages {
		batch.Lines = append(batch.Lines, api.NewLogLine{Level: level, Message: m})
	}
	answer, err := agent.WriteLogsWithResponse(t.Context(), batch)
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("write logs: %v %s", err, answer.Body)
	}
}

// numbered are messages that say which they are.
func numbered(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprintf("line %04d.", i))
	}
	return list
}

// says returns the selector of a line of the log by its text.
func says(text string) string { return fmt.Sprintf("#joblog-list li:has-text(%q)", text) }

// shown counts the lines of the log that the reader can see or scroll to.
func (v *visitor) shown() int {
	v.t.Helper()
	n, err := v.tab.Locator("#joblog-list li:not([hidden])").Count()
	v.must("count lines", err)
	return n
}

// fromEnd returns how far the log is scrolled from its end, in pixels.
func (v *visitor) fromEnd() int {
	v.t.Helper()
	px, err := v.tab.Evaluate(`() => { const b = document.getElementById("joblog-body");
		return Math.round(b.scrollHeight - b.clientHeight - b.scrollTop) }`)
	v.must("look where the log is scrolled to", err)
	switch n := px.(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	v.t.Fatalf("scrolled to %v", px)
	return 0
}

func (v *visitor) press(selector, key string) {
	v.t.Helper()
	v.must("press "+key, v.tab.Locator(selector).Press(key))
}

// tailing waits until the log's own stream is open.
func (v *visitor) tailing() {
	v.t.Helper()
	eventually(v.t, "the stream of the log", func() bool {
		open, err := v.tab.Evaluate("() => Boolean(document.getElementById('joblog-live')?._htmx?.sse)")
		return err == nil && open == true
	})
}

// A person watches while an agent writes: lines come without a reload, a pause
// holds them back, resuming shows them all, and text stays text.
func TestAPersonWatchesAnAgentsLog(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Watched")
	agent := s.agent("claude-1")
	claim(t, agent)
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.tailing()
	v.must("mark the page", mark(v))

	write(t, agent, "FB-1", api.INFO, numbered(1, 40)...)
	v.sees(says("line 0040."))
	eventually(t, "the log at its end", func() bool { return v.fromEnd() < 2 })
	write(t, agent, "FB-1", api.ERROR, `<img src=x onerror="document.title='owned'"></li></ol><script>document.title='owned'</script>`)
	v.sees(says(`<img src=x onerror=`))
	if n, err := v.tab.Locator("#joblog img, #joblog script").Count(); err != nil || n != 0 {
		t.Errorf("%d elements came out of a line, %v", n, err)
	}

	v.press("#joblog-pause", "Space")
	v.sees("#joblog-pause[aria-pressed=true]")
	before := v.shown()
	write(t, agent, "FB-1", api.INFO, numbered(41, 52)...)
	v.sees("#joblog-new:has-text('12 new lines')")
	if n := v.shown(); n != before {
		t.Errorf("%d lines show during a pause; want %d", n, before)
	}
	v.press("#joblog-pause", "Enter")
	v.sees("#joblog-pause[aria-pressed=false]")
	v.sees("#joblog-said:has-text('12 new lines')")
	v.sees(says("line 0052."))
	eventually(t, "the log at its end again", func() bool { return v.fromEnd() < 2 })

	// Whoever scrolled up stays there.
	v.must("scroll up", scrollTo(v, 0))
	write(t, agent, "FB-1", api.WARNING, "line 0053.")
	v.sees("#joblog-new:has-text('1 new line')")
	if v.fromEnd() < 100 {
		t.Error("the log was scrolled away from under the reader")
	}
	v.click("#joblog-new")
	eventually(t, "the log at its end at last", func() bool { return v.fromEnd() < 2 })

	v.click("#joblog nav a:has-text('Errors')")
	eventually(t, "errors only", func() bool { return v.shown() == 1 })
	v.tailing()
	write(t, agent, "FB-1", api.CRITICAL, "the very end")
	v.sees(says("the very end"))

	// The end of the job changes the page around the log, not the log.
	complete(t, agent, "FB-1")
	v.sees("#job-panel .jobmeta:has-text('In review'), #job-panel .jobmeta:has-text('Completed')")
	if n := v.shown(); n != 2 {
		t.Errorf("%d lines show after the end; want the two errors", n)
	}
	if !marked(v) {
		t.Error("the page was loaded again")
	}
}

// scrollTo scrolls the log, and returns once the page has got the event.
func scrollTo(v *visitor, top int) error {
	_, err := v.tab.Evaluate(fmt.Sprintf(`() => new Promise(heard => {
		document.getElementById('joblog-body').scrollTop = %d
		requestAnimationFrame(() => requestAnimationFrame(heard))
	})`, top))
	return err
}

// Older lines come above those that the reader looks at, with scripts and
// without.
func TestOlderLinesOfALog(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Chatty")
	agent := s.agent("claude-1")
	claim(t, agent)
	write(t, agent, "FB-1", api.INFO, numbered(1, 450)...)
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.sees(says("line 0251."))
	v.click("#joblog-older")
	eventually(t, "400 lines", func() bool { return v.shown() == 400 })
	if box, err := v.tab.Locator(says("line 0251.")).BoundingBox(); err != nil || box == nil || !v.within(box.Y) {
		t.Errorf("the line that was first is out of sight: %v, %v", box, err)
	}
	v.click("#joblog-older")
	eventually(t, "all lines", func() bool { return v.shown() == 450 })
	if visible, err := v.tab.Locator("#joblog-older").IsVisible(); err != nil || visible {
		t.Errorf("there is a link to lines older than the first, %v", err)
	}

	plain := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	plain.logIn()
	plain.open("/jobs/FB-1")
	plain.click("#joblog-older")
	plain.sees(says("line 0250."))
	plain.click("#joblog nav a:has-text('Errors')")
	plain.sees("text=No line of these levels")
}

// A link to a line opens the log there and marks it, also where the line is no longer
// among the newest; long lines wrap or do not, as the reader chose before.
func TestALinkToALineOfALog(t *testing.T) {
	t.Parallel()
	s := ownServer(t) // lines are numbered on the whole server
	s.submit("Chatty")
	agent := s.agent("claude-1")
	claim(t, agent)
	write(t, agent, "FB-1", api.INFO, numbered(1, 450)...)
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1#L120")
	v.must("come to the page around the line", v.tab.WaitForURL("**/log?line=120#L120"))
	v.sees("#L120:target:has-text('line 0120.')")
	eventually(t, "the line in sight", func() bool {
		box, err := v.tab.Locator("#L120").BoundingBox()
		return err == nil && box != nil && v.within(box.Y)
	})
	v.click("#joblog-wrap")
	v.sees("#joblog-body.log-long")
	v.fill("#joblog-q", "LINE 044")
	v.press("#joblog-q", "Enter")
	v.sees("#joblog .chip:has-text('10 found')")
	v.sees("#joblog-body.log-long")
	v.click("#joblog-list a[aria-label='Line 445']")
	v.sees("#L445:target")
	v.open("/jobs/FB-1")
	v.sees("#joblog-wrap[aria-pressed=false]")

	plain := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	plain.logIn()
	plain.open("/jobs/FB-1")
	plain.fill("#joblog-q", "line 0120")
	plain.press("#joblog-q", "Enter")
	plain.click("#joblog-list a[aria-label='Line 120']")
	plain.sees("#L120:target:has-text('line 0120.')")
	file, err := plain.tab.ExpectDownload(func() error { return plain.tab.Locator("#joblog a[download]").Click() })
	plain.must("download the log", err)
	if name := file.SuggestedFilename(); name != "FB-1.log.txt" {
		t.Errorf("the file is %s", name)
	}
}

// within says whether a height lies inside the log's box on the screen.
func (v *visitor) within(y float64) bool {
	b := v.box("#joblog-body")
	return y >= b.Y-1 && y <= b.Y+b.Height
}
