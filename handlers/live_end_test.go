package handlers

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// The end of a stream comes after the time for its last message is over, as it
// often does with the times of the product.
func init() { writeTime = sessionEvery - 2*time.Second }

// Both kinds of stream show only what their reader may see still: they end when
// the session or the role is another one. Where the process is told of it, at
// once; in any case within five seconds.
func TestStreamsEndWithWhatTheyRestOn(t *testing.T) {
	const soon, atMost = 3 * time.Second, sessionEvery + 2*time.Second
	for name, c := range map[string]struct {
		most   time.Duration
		change func(t *testing.T, owner *desk, reader *site, account string)
	}{
		"another role": {soon, func(t *testing.T, owner *desk, _ *site, account string) {
			read(t, owner.post("/settings/members/"+account+"/role", url.Values{"role": {"viewer"}}), http.StatusSeeOther)
		}},
		"logged out": {atMost, func(t *testing.T, _ *desk, reader *site, _ string) {
			read(t, reader.post("/logout", nil), http.StatusSeeOther)
		}},
		"a deleted row, elsewhere": {atMost, func(t *testing.T, _ *desk, reader *site, account string) {
			dbfactory.Exec(t, reader.db, "DELETE FROM membership WHERE account_id = $1", account)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			owner := newDesk(t)
			owner.job("Alpha")
			reader := owner.as(tenancy.RoleMember)
			account := dbfactory.Text(t, owner.db, "SELECT account_id::text FROM membership WHERE role = 'member'")
			at := owner.listen(t)
			streams := []*stream{reader.stream(t, at+links.LiveAgents(""), ""), reader.stream(t, at+"/jobs/FB-1/log/stream?after=0", "")}
			start := time.Now()
			c.change(t, owner, reader, account)
			for i, s := range streams {
				var err error
				for err == nil {
					_, err = s.next()
				}
				if !errors.Is(err, io.EOF) {
					t.Errorf("stream %d was cut short: %v", i, err)
				}
				if took := time.Since(start); took > c.most {
					t.Errorf("stream %d ended after %v, want %v at most", i, took, c.most)
				}
			}
		})
	}
}
