package witness_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var keys = seal.NewKeys([]byte("the server's secret key of tests"))

// watched is a workspace whose log a witness reads.
type watched struct {
	t         *testing.T
	db        *db.DB
	workspace ids.ID
	dir       string
	*witness.Witness
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	w := &watched{t: t, db: d, workspace: dbfactory.Workspace(t, d), dir: t.TempDir()}
	w.Witness = w.another(keys)
	return w
}

// another is a witness that begins at the present end of the log, in the same directory.
func (w *watched) another(keys *seal.Keys) *witness.Witness {
	w.t.Helper()
	another := witness.New(w.db, keys, nil, w.dir, slog.New(slog.DiscardHandler))
	another.BeginAgain()
	if err := another.Read(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return another
}

// happen appends n events and has them read.
func (w *watched) happen(n int) {
	w.t.Helper()
	seen := w.missing().Seen
	for range n {
		job := ids.New()
		err := w.db.In(w.t.Context(), db.Workspace(w.workspace), func(tx db.Tx) error {
			return eventlog.AppendTx(w.t.Context(), tx, w.workspace, eventlog.Event{Type: eventlog.JobProgressed, JobID: &job,
				Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "test"}})
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.Published(eventlog.Topic(w.workspace))
	for w.missing().Seen < seen+n { // another test's transaction may keep them back
		if err := w.Read(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *watched) missing() witness.Lack {
	w.t.Helper()
	l, err := w.Missing(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// An event is missing where its id is not there or is another one's; what was folded or deleted on
// purpose is not.
func TestMissingEventsAreNamed(t *testing.T) {
	w := newWatched(t)
	w.happen(6)
	if l := w.missing(); l.Seen != 6 || len(l.Events) != 0 || l.Since.IsZero() {
		t.Fatalf("nothing was done, and %+v", l)
	}
	dbfactory.Exec(t, w.db, `DELETE FROM event WHERE id IN (2, 3, 5)`)
	dbfactory.Exec(t, w.db, `UPDATE event SET at = at + interval '1 second' WHERE id = 4`)
	dbfactory.Exec(t, w.db, `INSERT INTO log_fold (workspace_id, event_id, event_digest, removed_ids, signer, signature)
		VALUES ($1, 6, sha256('x'), '{5}', decode(repeat('00', 32), 'hex'), decode(repeat('00', 64), 'hex'))`, w.workspace)
	l := w.missing()
	if got := idsOf(l.Events[w.workspace]); !slices.Equal(got, []int64{2, 3, 4}) {
		t.Errorf("missing are %v; want 2 and 3, which are gone, and 4, which is another one", got)
	}
}

// A workspace that is not there has no place for its losses: how much was seen of it is counted.
func TestAMissingWorkspaceIsCounted(t *testing.T) {
	w := newWatched(t)
	w.happen(2)
	dbfactory.Exec(t, w.db, `DELETE FROM workspace WHERE id = $1`, w.workspace)
	if l := w.missing(); l.Gone[w.workspace] != 2 || len(l.Events) != 0 {
		t.Errorf("%+v", l)
	}
}

// Whoever is told that the database is another one reads from its end on: transactions may have the
// numbers of others that were read.
func TestAfterAnotherDatabaseTheEndIsTheBeginning(t *testing.T) {
	w := newWatched(t)
	w.happen(2)
	highest := w.Highest()
	dbfactory.Exec(t, w.db, `DELETE FROM event WHERE id = 2`)
	w.BeginAgain()
	if err := w.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.happen(1)
	if w.Highest() <= highest || highest == 0 {
		t.Errorf("the highest transaction was %d and is %d", highest, w.Highest())
	}
	if got := idsOf(w.missing().Events[w.workspace]); !slices.Equal(got, []int64{2}) {
		t.Errorf("missing are %v; want 2", got)
	}
}

// Lines that somebody else wrote, or half of one, say nothing.
func TestForeignLinesCountForNothing(t *testing.T) {
	w := newWatched(t)
	w.happen(1)
	path := filepath.Join(w.dir, witness.FileName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, []byte("{}\nx\n")...)
	text = append(text, bytes.Replace(text[:bytes.IndexByte(text, '\n')+1], []byte(`"text":"`), []byte(`"text":"AAAA`), 1)...)
	if err := os.WriteFile(path, append(text, []byte(`{"text":"`)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := w.missing(); l.Seen != 1 || l.Foreign != 4 {
		t.Errorf("%d events were seen and %d lines are foreign; want 1 and 4", l.Seen, l.Foreign)
	}
	stranger := w.another(seal.NewKeys([]byte("the secret key of another server")))
	if l, err := stranger.Missing(t.Context()); l.Seen != 0 || err != nil {
		t.Errorf("with another key %d events were seen (%v)", l.Seen, err)
	}
}

// A full file becomes the earlier one; together they bound what is kept.
func TestFullFilesAreReplaced(t *testing.T) {
	w := newWatched(t)
	path := filepath.Join(w.dir, witness.FileName)
	if err := os.WriteFile(path, bytes.Repeat(append(bytes.Repeat([]byte("x"), 1<<19-1), '\n'), 16), 0o600); err != nil {
		t.Fatal(err)
	}
	w.happen(1)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the full file is still the newer one: %v", err)
	}
	w.happen(1)
	if l := w.missing(); l.Seen != 2 {
		t.Errorf("%d events were seen; want 2", l.Seen)
	}
}

func idsOf(list []witness.Event) (which []int64) {
	for _, e := range list {
		which = append(which, e.ID)
	}
	return which
}
