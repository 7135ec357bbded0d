package handlertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Readers opens n boards of members and n of viewers.
func (w *Workspace) Readers(t *testing.T, base string, n int) []Reader {
	t.Helper()
	var all []Reader
	for _, role := range []tenancy.Role{tenancy.RoleMember, tenancy.RoleViewer} {
		var s *Site
		for i := range n {
			if i%live.StreamsPerPerson == 0 {
				s = w.As(role)
			}
			target := strings.ReplaceAll(LiveTarget.FindStringSubmatch(Read(t, s.Get("/board"), 200))[1], "&amp;", "&")
			all = append(all, Reader{fmt.Sprintf("board %d of a %s", i, role), role, s.Stream(t, base+target, "")})
		}
	}
	return all
}

// Settled waits until every board has caught up: the first change may be sent while
// it does so, and once more afterwards; the second one is sent once.
func (w *Workspace) Settled(t *testing.T, key string, all []Reader) {
	t.Helper()
	for _, title := range []string{"Told once or twice", "Told once"} {
		w.Rename(t, key, title)
		for _, r := range all {
			r.Stream.Until(title + "<")
		}
	}
}

// Act carries out a person's verb in another process.
func (w *Workspace) Act(t *testing.T, key string, a actions.Action) {
	t.Helper()
	if _, err := w.OtherProcess.Act(t.Context(), w.Owner, key, a); err != nil {
		t.Fatal(err)
	}
}

// Rename gives a job another title, in one version more.
func (w *Workspace) Rename(t *testing.T, key, title string) {
	t.Helper()
	if _, err := w.Jobs.Patch(t.Context(), w.Owner, key, jobs.Patch{Version: w.Version(t, key), Spec: jobs.Spec{Title: title},
		Set: []string{"title"}}); err != nil {
		t.Fatal(err)
	}
}

// Version returns what a job's version is now.
func (w *Workspace) Version(t *testing.T, key string) int {
	t.Helper()
	j, err := w.Jobs.Get(t.Context(), w.Owner, key)
	if err != nil {
		t.Fatal(err)
	}
	return j.Version
}
