package stream_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/handlers/api/stream"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var limits = stream.Limits{PerWorkspace: 4, PerAsker: 2, Check: 4 * time.Second, AgentCheck: time.Second, Write: time.Second}

func person() tenancy.Principal {
	return tenancy.Principal{Kind: tenancy.KindPerson, Workspace: ids.New(), Token: ids.New()}
}

// untilEnded stays until the stream's context ends.
func untilEnded(ctx context.Context, _ *stream.Writer) error {
	<-ctx.Done()
	return ctx.Err()
}

// A stream ends with the server and with its token, and an agent's sooner; the end is no
// error, and the place is free again.
func TestAStreamEnds(t *testing.T) {
	t.Parallel()
	agent := person()
	agent.Kind, agent.Agent = tenancy.KindAgent, ids.New()
	for what, c := range map[string]struct {
		who    tenancy.Principal
		server time.Duration // until the server stops
		token  time.Duration // until the token ends
		want   time.Duration
	}{
		"server": {person(), 500 * time.Millisecond, time.Hour, 500 * time.Millisecond},
		"token":  {person(), time.Hour, 5 * time.Second, 8 * time.Second},
		"agent":  {agent, time.Hour, 4500 * time.Millisecond, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			limits := limits
			limits.PerAsker = 1
			all, began, stopped := stream.New(limits), time.Now(), make(chan struct{})
			defer time.AfterFunc(c.server, func() { close(stopped) }).Stop()
			end := stream.End{Server: stopped, Allowed: func(context.Context) bool { return time.Since(began) < c.token }}
			for range 2 { // the second has the first one's place, and ends at the next look
				s, err := all.Open(c.who, 1, end)
				if err != nil {
					t.Fatal(what, err)
				}
				if _, err := all.Open(c.who, 1, end); !fault.Is(err, fault.TooMany) {
					t.Errorf("%s: a stream too many: %v", what, err)
				}
				if err := s.Serve(t.Context(), httptest.NewRecorder(), untilEnded); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if took := time.Since(began); took < c.want || took > c.want+limits.Check {
					t.Errorf("%s: ended after %s, want %s", what, took, c.want)
				}
			}
		})
	}
}

// What was gathered is one answer, which begins with the time until the next try.
func TestWriter(t *testing.T) {
	t.Parallel()
	s, err := stream.New(limits).Open(person(), 1, stream.End{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	err = s.Serve(t.Context(), w, func(_ context.Context, out *stream.Writer) error {
		out.Place("1")
		out.Beat()
		if err := out.Event("2", "note", map[string]string{"text": "two\nlines"}); err != nil {
			return err
		}
		return out.Flush()
	})
	want := "retry: 3000\nid: 1\n\n:\n\nid: 2\nevent: note\ndata: {\"text\":\"two\\nlines\"}\n\n"
	if got := w.Body.String(); got != want || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
