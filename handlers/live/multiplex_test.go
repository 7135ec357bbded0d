package live_test

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// together returns the address of streams over one connection.
func together(streams ...string) string {
	q := url.Values{}
	for _, s := range streams {
		q.Add("s", s)
		q.Add("last", "")
		q.Add("in", "")
	}
	return "/streams?" + q.Encode()
}

// reading returns the messages of a connection as they come.
type reading struct {
	t    *testing.T
	body *bufio.Reader
}

func read(t *testing.T, body io.Reader) reading { return reading{t, bufio.NewReader(body)} }

// until returns the first message to a stream that has the text.
func (r reading) until(to, text string) string {
	r.t.Helper()
	var message strings.Builder
	for {
		line, err := r.body.ReadString('\n')
		if err != nil {
			r.t.Fatalf("the connection ended before %q came to %s: %v", text, to, err)
		}
		message.WriteString(line)
		if line != "\n" {
			continue
		}
		if m := message.String(); strings.HasPrefix(m, "to: "+to+"\n") && strings.Contains(m, text) {
			return m
		}
		message.Reset()
	}
}

// Several streams come over one connection: each gets its messages, and one that is refused or
// ends leaves the others alone.
func TestStreamsShareAConnection(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Live.Settle = time.Millisecond
	agent, j := d.Working()
	base := d.Listen(t)
	for _, packed := range []bool{false, true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			base+together(d.LiveURL("/board"), "/live/jobs/FB-1/log?after=0", "/live/jobs/FB-9/log?after=0", "/live?on=nothing", "/live/../board", "/live?on=status"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(d.Cookies["sid"])
		if packed {
			r.Header.Set("Accept-Encoding", "gzip")
		} else {
			r.Header.Set("Accept-Encoding", "identity")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		if got := res.Header.Get("Content-Encoding") == "gzip"; got != packed || res.StatusCode != http.StatusOK {
			t.Fatalf("answers %d, compressed %v", res.StatusCode, got)
		}
		body := io.Reader(res.Body)
		if packed {
			if body, err = gzip.NewReader(res.Body); err != nil {
				t.Fatal(err)
			}
		}
		in := read(t, body)
		heads := map[string]string{}
		for len(heads) < 6 {
			line, err := in.body.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			to, is := strings.CutPrefix(line, "to: ")
			if !is {
				continue
			}
			if line, _ = in.body.ReadString('\n'); strings.HasPrefix(line, "head: ") {
				heads[strings.TrimSpace(to)] = line
			}
		}
		for to, want := range map[string]string{"0": `"status":200`, "1": `"status":200`, "2": `"status":404`, "3": `"status":404`, "4": `"status":404`, "5": `"status":200`} {
			if !strings.Contains(heads[to], want) {
				t.Errorf("the head of stream %s is %s, want %s", to, heads[to], want)
			}
		}
		d.Write(agent, j, joblog.Line{Level: joblog.Info, Message: "said once more"})
		in.until("1", "said once more")
		verb := jobs.ByPause
		if packed {
			verb = jobs.ByResume
		}
		if _, err := d.OtherProcess.Act(t.Context(), d.Owner, "FB-1", actions.Action{Verb: verb}); err != nil {
			t.Fatal(err)
		}
		in.until("0", "card-fb-1")
	}
}

// A connection ends when all of its streams have.
func TestAConnectionEndsWithItsStreams(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	member := d.As(tenancy.RoleViewer)
	base := d.Listen(t)
	in := read(t, member.Open(t, base+together("/live?on=board", "/live?on=status"), "").Body)
	in.until("0", ":")
	handlertest.Read(t, member.Post("/logout", nil), http.StatusSeeOther)
	in.until("1", "end:")
	if _, err := io.ReadAll(in.body); err != nil {
		t.Errorf("the end is %v", err)
	}
	in = read(t, d.Open(t, base+together("/live?on=nothing"), "").Body)
	in.until("0", "end:")
	if rest, err := io.ReadAll(in.body); err != nil || len(rest) > 0 {
		t.Errorf("after the last stream comes %q, %v", rest, err)
	}
}

// Only streams are carried, and so many.
func TestConnectionsThatAreRefused(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	base := d.Listen(t)
	for _, address := range []string{"/streams", "/streams?s=/live&last=", together("/board"), together("/settings/account"), together(together("/live?on=board")),
		together("http://127.0.0.1/live"), together("//host/live"), together("/livelihood"), together("%zz"), together(""),
		together(strings.Split(strings.Repeat("/live?on=board ", 33), " ")[:33]...)} {
		res := d.Open(t, base+address, "")
		if want := http.StatusBadRequest; res.StatusCode != want {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 200))
			t.Errorf("%s answers %d, want %d: %s", address, res.StatusCode, want, body)
		}
	}
	d.Cookies["sid"].Value = "nobody"
	if res := d.Open(t, base+together("/live?on=board"), ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger gets %d", res.StatusCode)
	}
}
