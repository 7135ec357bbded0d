package proof_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/coordinator/proof"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// quiet tells nobody.
type quiet struct{}

func (quiet) Publish(...string) {}

// sound finds nothing wrong with any seal.
type sound struct{}

func (sound) Check(context.Context, ids.ID, func(string)) error { return nil }

func soundSeals(context.Context) (audit.Seals, error) { return sound{}, nil }

// newServer is a server on d of that name.
func newServer(t *testing.T, d *db.DB, name string, seals proof.Seals) *proof.Service {
	t.Helper()
	silent := slog.New(slog.DiscardHandler)
	w := witness.New(d, seal.NewKeys([]byte("the server's secret key of tests")), nil, t.TempDir(), silent)
	return proof.New(d, w, seals, loss.New(d, quiet{}, name), name, silent)
}

// look has a server look, and carry out what is due.
func look(t *testing.T, s *proof.Service) {
	t.Helper()
	for _, do := range []func(context.Context) error{s.Look, s.Look, s.Prove} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func proofs(t *testing.T, s *proof.Service) []proof.Proof {
	t.Helper()
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The first PostgreSQL is no change, another timeline is a promotion, another cluster a move; each is
// proved once, by one server.
func TestAChangeOfPostgreSQLIsProvedOnceTogether(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.Workspace(t, d)
	one, two := newServer(t, d, "one", soundSeals), newServer(t, d, "two", soundSeals)
	for _, c := range []struct {
		change string
		kinds  []proof.Kind // of all proofs afterwards, the newest first
	}{
		{`SELECT`, nil},
		{`UPDATE database_identity SET timeline = timeline + 1`, []proof.Kind{proof.Promoted}},
		{`UPDATE database_identity SET system = 'another'`, []proof.Kind{proof.Moved, proof.Promoted}},
	} {
		dbfactory.Exec(t, d, c.change)
		var both errgroup.Group
		for _, s := range []*proof.Service{one, two} {
			both.Go(func() error { return errors.Join(s.Look(t.Context()), s.Look(t.Context())) })
		}
		if err := both.Wait(); err != nil {
			t.Fatal(err)
		}
		look(t, one)
		look(t, two)
		list := proofs(t, one)
		if len(list) != len(c.kinds) {
			t.Fatalf("after %s there are %d proofs; want %v", c.change, len(list), c.kinds)
		}
		for i, kind := range c.kinds {
			if p := list[i]; p.Kind != kind || p.DoneAt == nil || p.Workspaces != 1 || p.Found != 0 || p.Blind != "" {
				t.Errorf("after %s proof %d is %+v; want %s, done, of one workspace", c.change, i, p, kind)
			}
		}
	}
}

// What is wrong is counted and named; what could not be looked at is said.
func TestAProofSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	blind := newServer(t, d, "one", func(context.Context) (audit.Seals, error) { return nil, errors.New("no key") })
	look(t, blind)
	dbfactory.Exec(t, d, `INSERT INTO job_count_change (workspace_id, product_id, status, jobs)
		SELECT workspace_id, id, 'ready', 7 FROM product WHERE workspace_id = $1`, workspace)
	dbfactory.Exec(t, d, `UPDATE database_identity SET timeline = timeline + 1`)
	look(t, blind)
	p := proofs(t, blind)[0]
	if p.Found != 1 || len(p.Findings) != 1 || p.Findings[0].Check != "counts" || !strings.Contains(p.Blind, "no key") || p.DoneAt == nil {
		t.Errorf("the proof is %+v; want a wrong count, and seals that could not be checked", p)
	}
}

// A proof whose server fell silent is taken over; the late one writes nothing.
func TestAProofIsTakenOver(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.Workspace(t, d)
	other := newServer(t, d, "two", soundSeals)
	first := newServer(t, d, "one", soundSeals)
	look(t, first)
	dbfactory.Exec(t, d, `UPDATE database_identity SET timeline = timeline + 1`)
	if err := errors.Join(first.Look(t.Context()), first.Look(t.Context())); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, d, `UPDATE database_proof SET looker = 'gone', renewed_at = now()`)
	look(t, other)
	if p := proofs(t, other)[0]; p.DoneAt != nil {
		t.Errorf("it was taken from one that is at work: %+v", p)
	}
	dbfactory.Exec(t, d, `UPDATE database_proof SET renewed_at = now() - interval '31 s'`)
	look(t, other)
	if p := proofs(t, other)[0]; p.DoneAt == nil || p.Looker != "two" {
		t.Errorf("it was not taken over: %+v", p)
	}
}
