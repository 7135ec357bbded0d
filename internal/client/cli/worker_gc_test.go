package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// What is on this host is cleaned without a server; only the origins are left alone then.
func TestGCGoesOnWithoutAServer(t *testing.T) {
	var reply bytes.Buffer
	c := factory{&cli{}}
	c.env = Env{Err: &reply}
	asked := 0
	ended := c.askEnded(func(context.Context, string, []string) ([]repos.EndedBranch, error) {
		asked++
		return nil, errors.New("no answer")
	})
	for range 2 {
		if list, err := ended(t.Context(), "web", []string{"FB-1"}); len(list) > 0 || err != nil {
			t.Errorf("it says %v, %v", list, err)
		}
	}
	if asked != 1 || strings.Count(reply.String(), "left alone") != 1 || !strings.Contains(reply.String(), "no answer") {
		t.Errorf("asked %d times, it printed %q", asked, reply.String())
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	again := c.askEnded(func(ctx context.Context, _ string, _ []string) ([]repos.EndedBranch, error) { return nil, ctx.Err() })
	if _, err := again(gone, "web", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted it goes on: %v", err)
	}
}
