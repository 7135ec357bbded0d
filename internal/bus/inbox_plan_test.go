package bus

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A reader goes through its own messages alone, however many others have and whatever was
// counted when: inboxes fill and empty faster than PostgreSQL counts them.
func TestAnInboxIsReadByItsOwnRows(t *testing.T) {
	w := dispatchtest.New(t)
	s := NewService(w.DB, w.Wake, w.Jobs.Secrets, nil, nil)
	t.Cleanup(s.Close)
	ada := w.Agent("ada")
	own := inboxName(Address{Kind: ToAgent, ID: ada.Agent})
	dbfactory.Exec(t, w.DB, `ALTER TABLE message SET (autovacuum_enabled = false); ALTER TABLE message_delivery SET (autovacuum_enabled = false)`)
	for range 10 { // plans that are kept are made when there is nothing
		assertFewRows(t, s, w, ada, "nothing yet")
	}
	dbfactory.Exec(t, w.DB, `INSERT INTO message (workspace_id, seq, id, type, from_kind, from_name, to_kind, to_name, correlation_id, payload, digest)
		SELECT $1, n, gen_random_uuid(), 'custom.note', 'agent', 'ada', 'all', '', 'thread', '{}', decode(repeat('00', 32), 'hex')
		FROM generate_series(1, 20000) n`, w.Workspace)
	deliver := func() {
		dbfactory.Exec(t, w.DB, `INSERT INTO message_delivery (workspace_id, inbox, seq)
			SELECT $1, CASE n % 40 WHEN 0 THEN $2 ELSE 'agent:' || n % 40 END, n FROM generate_series(1, 20000) n
			ON CONFLICT DO NOTHING`, w.Workspace, own)
	}
	for _, when := range []struct{ what, sql string }{
		{"never counted", `SELECT 1`},
		{"counted", `ANALYZE`},
		{"counted when all was acknowledged", `DELETE FROM message_delivery; ANALYZE`},
		{"counted when little was left", `DELETE FROM message_delivery WHERE seq BETWEEN 11 AND 19990; ANALYZE`},
		{"cleaned up when little is left", `VACUUM ANALYZE message_delivery`},
	} {
		dbfactory.Exec(t, w.DB, when.sql)
		deliver()
		for range 3 {
			assertFewRows(t, s, w, ada, when.what)
		}
	}
}

// assertFewRows reads and acknowledges 20 messages, and takes it back.
func assertFewRows(t *testing.T, s *Service, w *dispatchtest.Fixture, who tenancy.Principal, when string) {
	t.Helper()
	read := func(tx db.Tx) error {
		r, got, _, _, err := s.readTx(t.Context(), tx, who, Query{Limit: 20})
		if err != nil || len(got) == 0 {
			return err
		}
		_, err = ackUpToTx(t.Context(), tx, w.Workspace, r, got[len(got)-1].Seq)
		return err
	}
	for name, n := range dbtest.RowsRead(t, s.db, w.Workspace, read, "message", "message_delivery") {
		if n > 200 {
			t.Errorf("%s: %d rows of %s are read for 20 messages", when, n, name)
		}
	}
}
