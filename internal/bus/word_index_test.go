package bus_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/bus"
)

// Whole and parts are found of what people and agents write to one another, and sending
// writes no words.
func TestMessagesAreFoundByWholeAndParts(t *testing.T) {
	p := newPost(t)
	p.as("ada")
	p.send(p.Owner, note(agent("ada"), "see internal/db/pool.go:42 of v1.2.3 at https://host-7.example.com/x, ada@example.org, FB-206, MAX_rows"))
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message_words`); n != 0 {
		t.Errorf("sending wrote the words of %d messages", n)
	}
	jobstest.IndexMessages(t, p.DB)
	for words, want := range map[string]int{"internal/db/pool.go": 1, "pool.go": 1, "pool": 1, "db/pool": 1, "pool.go:42": 1, "v1.2.3": 1, "1.2.3": 1, "1.2.4": 0,
		"host-7.example.com": 1, "example.com": 1, "ada@example.org": 1, "fb-206": 1, "FB-207": 0, "max_rows": 1, "go.pool": 0, "custom.note": 1} {
		found, err := p.bus.Search(p.Ctx, p.Owner, words, bus.Filter{}, 10)
		if err != nil || len(found) != want {
			t.Errorf("%s finds %d, %v; want %d", words, len(found), err, want)
		}
	}
	dbfactory.Exec(t, p.DB, `DELETE FROM message`)
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message_words`); n != 0 {
		t.Errorf("%d messages that are gone have words", n)
	}
}
