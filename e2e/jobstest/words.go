package jobstest

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
)

// Subscribe never calls back.
func (Silence) Subscribe(string, func(topic string)) (cancel func()) { return func() {} }

// SubscribeWatched never calls.
func (Silence) SubscribeWatched(string, func(topic string)) (cancel func()) { return func() {} }

// IndexTexts writes the words of all jobs as they are now: events are seen when older
// transactions of other tests have ended.
func IndexTexts(t *testing.T, d *db.DB) {
	t.Helper()
	const behind = `SELECT count(*) FROM event e LEFT JOIN job_words_place p USING (workspace_id) WHERE p.place IS NULL OR p.place = ''
		OR (e.xid, e.id) > (split_part(p.place, '-', 1)::xid8, split_part(p.place, '-', 2)::bigint)`
	for dbfactory.Int(t, d, behind) > 0 {
		if _, err := jobsearch.NewIndex(d, Silence{}).IndexTexts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// IndexLogs writes words of logs until there are those of n attempts.
func IndexLogs(t *testing.T, d *db.DB, n int) {
	t.Helper()
	for dbfactory.Int(t, d, `SELECT count(DISTINCT (job_id, epoch)) FROM job_log_words`) < n {
		if _, err := jobsearch.NewIndex(d, Silence{}).IndexLogs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// IndexMessages writes the words of all messages.
func IndexMessages(t *testing.T, d *db.DB) {
	t.Helper()
	const behind = `SELECT count(*) FROM message m LEFT JOIN message_words_place p USING (workspace_id) WHERE m.seq > coalesce(p.seq, 0)`
	for dbfactory.Int(t, d, behind) > 0 {
		b := bus.NewService(d, Silence{}, nil, nil, nil)
		_, err := b.IndexWords(t.Context())
		b.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}
