package job_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
)

// did is a step of a number.
func did(n int, kind transcript.Kind, title, text string, change ...func(*transcript.Step)) transcript.Step {
	s := transcript.Step{N: int64(n), At: time.Now(), Kind: kind, Title: title, Text: text}
	for _, c := range change {
		c(&s)
	}
	return s
}

func edits(path string) func(*transcript.Step) { return func(s *transcript.Step) { s.Path = path } }

// many are steps that say which they are.
func many(from, to int) (list []transcript.Step) {
	for n := from; n <= to; n++ {
		list = append(list, did(n, transcript.Message, fmt.Sprintf("step %04d", n), ""))
	}
	return list
}

func TestTheTranscriptShowsWhatAnAgentDid(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#transcript-body", "Older stepsNo agent has told what it does yet.")
	spent := func(s *transcript.Step) { s.Tokens, s.Cost = 1200, 12_300_000 }
	d.TellSteps(agent, j,
		did(1, transcript.Message, "I look.", "I look.\nThen I change it."),
		did(2, transcript.Tool, "make test", "", func(s *transcript.Step) { s.Tool = "Bash" }),
		did(3, transcript.Output, "FAIL", strings.Repeat("line\n", 2000)),
		did(4, transcript.Edit, "Edit a.go", "@@ -1 +1 @@\n-old\n+new\n", edits("pkg/a.go")),
		did(5, transcript.Usage, "claude-sonnet-4-5", "", spent),
		did(6, transcript.Message, "<script>alert(1)</script>\u202eevil</li>", hostile))
	for _, path := range []string{"/jobs/FB-1", "/jobs/FB-1/transcript"} {
		doc = handlertest.Page(t, d.Get(path), http.StatusOK)
		handlertest.WantCount(t, doc, "#transcript-list > li", 6)
		handlertest.WantText(t, doc, "#transcript-sum", "6 steps · 1,200 tokens · $0.01")
		handlertest.WantCount(t, doc, "#step-4 details[open] tr.d-a", 1)
		handlertest.WantCount(t, doc, "#transcript script, #transcript hx-partial", 0)
	}
	if text := doc.Find("#step-6").Text(); strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("a hostile step shows %q", text)
	}
	whole, _ := doc.Find("#step-3 a:contains('all of it')").Attr("href")
	if res := d.Get(whole); res.StatusCode != http.StatusOK || strings.Count(res.Body.String(), "line") != 2000 {
		t.Errorf("%s answers %d", whole, res.StatusCode)
	}
	for query, want := range map[string]int{"kind=message": 2, "kind=tool": 2, "kind=edit": 1, "kind=usage": 1, "kind=loud": 6, "q=THEN+i": 1, "q=nowhere": 0,
		"epoch=1&step=4": 6, "epoch=7": 0, "before=3": 2} {
		handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-1/transcript?"+query), http.StatusOK), "#transcript-list > li", want)
	}
	handlertest.WantRedirect(t, d.Get("/jobs/FB-1/transcript?path=pkg/a.go"), "/jobs/FB-1/transcript?epoch=1&step=4#step-4")
	for _, missing := range []string{"/jobs/FB-1/transcript?path=other.go", "/jobs/FB-9/transcript", "/jobs/FB-1/transcript/text?epoch=1&step=99"} {
		if res := d.Get(missing); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %d", missing, res.StatusCode)
		}
	}
}

func TestATranscriptIsPaged(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.TellSteps(agent, j, many(1, 250)...)
	url, seen := "/jobs/FB-1/transcript", 0
	for url != "" {
		doc := handlertest.Page(t, d.Get(url), http.StatusOK)
		seen += doc.Find("#transcript-list > li").Length()
		older := doc.Find("#transcript-older")
		url, _ = older.Attr("href")
		if _, hidden := older.Parent().Attr("hidden"); hidden {
			url = ""
		}
	}
	if seen != 250 {
		t.Errorf("the pages show %d steps", seen)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-1/transcript?epoch=1&step=100"), http.StatusOK), "#step-100, #step-130, #step-1", 3)
}

// A page gets what is new, each step once, and the next attempt in place of the one before.
func TestATranscriptComesLive(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.TellSteps(agent, j, many(1, 3)...)
	target := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK).Find("#transcript-live").AttrOr("hx-sse:connect", "")
	base := d.Listen(t)
	stream := d.Stream(t, base+target, "")
	d.TellSteps(agent, j, did(4, transcript.Message, "four", ""))
	m := stream.Until("four")
	if doc := handlertest.Parse(t, m.Data); m.ID != "1-4" || doc.Find("li").Length() != 1 || !strings.Contains(m.Data, "4 steps") {
		t.Errorf("message %q is %s", m.ID, m.Data)
	}
	if _, err := d.OtherProcess.Release(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Release{Reason: "so"}); err != nil {
		t.Fatal(err)
	}
	again := d.Claim(agent)
	d.TellSteps(agent, again, did(1, transcript.Message, "of the second attempt", ""))
	for _, s := range []*handlertest.Stream{stream, d.Stream(t, base+target, "1-4")} {
		m := s.Until("of the second attempt")
		handlertest.WantCount(t, handlertest.Parse(t, m.Data), `hx-partial[hx-target="#transcript-body"] li`, 1)
	}
	edits := d.Stream(t, base+"/live/jobs/FB-1/transcript?after=2-1&epoch=2&kind=edit", "")
	d.TellSteps(agent, again, did(2, transcript.Message, "small talk", ""), did(3, transcript.Edit, "an edit", "+a"))
	if m := edits.Until("an edit"); strings.Contains(m.Data, "small talk") {
		t.Errorf("the message has what the filter leaves out: %s", m.Data)
	}
}
