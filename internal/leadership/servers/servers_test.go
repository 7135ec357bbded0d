package servers

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

func started(t *testing.T, d *db.DB, name string) *List {
	t.Helper()
	l := New(d, name, "v1.2.0", slog.New(slog.DiscardHandler))
	if n := l.Count(); n != 1 {
		t.Errorf("before the first look there are %d servers, want 1", n)
	}
	see(t, l)
	return l
}

func see(t *testing.T, l *List) {
	t.Helper()
	if err := l.see(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func names(l *List) (list []string) {
	for _, s := range l.Live() {
		list = append(list, s.Name)
	}
	return list
}

// A server knows the others that live, the oldest first: one that ends is gone at once, and one
// that was killed when its time is over.
func TestServersThatLive(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	one, two, three := started(t, d, "one"), started(t, d, "two"), started(t, d, "three")
	see(t, one)
	if got := names(one); !slices.Equal(got, []string{"one", "two", "three"}) || one.Count() != 3 || one.Live()[1].Version != "v1.2.0" {
		t.Errorf("the servers are %v, %d", got, one.Count())
	}
	two.end(t.Context())
	owner := dbtest.Owner(t, d)
	if _, err := owner.Exec(t.Context(), "UPDATE server SET seen_at = now() - interval '16 seconds' WHERE name = 'three'"); err != nil {
		t.Fatal(err)
	}
	see(t, one)
	if got := names(one); !slices.Equal(got, []string{"one"}) {
		t.Errorf("the servers that are left: %v", got)
	}
	see(t, three)
	see(t, one)
	if got := names(one); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("after one was only silent: %v", got)
	}
}

// Rows of servers that were killed long ago go with the first look of another.
func TestServersAreForgotten(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	started(t, d, "old")
	owner := dbtest.Owner(t, d)
	if _, err := owner.Exec(t.Context(), "UPDATE server SET seen_at = now() - interval '25 hours'"); err != nil {
		t.Fatal(err)
	}
	started(t, d, "new")
	left := 0
	if err := owner.QueryRow(t.Context(), "SELECT count(*) FROM server").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d rows are left (%v)", left, err)
	}
}

// A server says that it lives until it ends, and takes its row away then.
func TestAServerTakesItsRowAway(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	l := New(d, "one", "v1.2.0", slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	other := started(t, d, "other")
	for end := time.Now().Add(time.Minute); other.Count() != 2 && time.Now().Before(end); {
		see(t, other)
	}
	if other.Count() != 2 {
		t.Fatal("the server does not say that it lives")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if see(t, other); other.Count() != 1 {
		t.Errorf("after its end: %v", names(other))
	}
}
