package live_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/e2e/handlertest"
	"fleetboard/handlers/live"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// The end of a stream comes after the time for its last message is over, as it
// often does with the times of the product.
func init() { live.SetWriteTime(live.SessionEvery - 2*time.Second) }

// Both kinds of stream show only what their reader may see still: they end when
// the session or the role is another one. Where the process is told of it, at
// once; in any case within five seconds.
func TestStreamsEndWithWhatTheyRestOn(t *testing.T) {
	const soon, atMost = 3 * time.Second, live.SessionEvery + 2*time.Second
	for name, c := range map[string]struct {
		most   time.Duration
		change func(t *testing.T, owner *handlertest.Desk, reader *handlertest.Site, account string)
	}{
		"another role": {soon, func(t *testing.T, owner *handlertest.Desk, _ *handlertest.Site, account string) {
			handlertest.Read(t, owner.Post("/settings/members/"+account+"/role", url.Values{"role": {"viewer"}}), http.StatusSeeOther)
		}},
		"logged out": {atMost, func(t *testing.T, _ *handlertest.Desk, reader *handlertest.Site, _ string) {
			handlertest.Read(t, reader.Post("/logout", nil), http.StatusSeeOther)
		}},
		"a deleted row, elsewhere": {atMost, func(t *testing.T, _ *handlertest.Desk, reader *handlertest.Site, account string) {
			dbfactory.Exec(t, reader.DB, "DELETE FROM membership WHERE account_id = $1", account)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			owner := handlertest.NewDesk(t)
			owner.Job("Alpha")
			reader := owner.As(tenancy.RoleMember)
			account := dbfactory.Text(t, owner.DB, "SELECT account_id::text FROM membership WHERE role = 'member'")
			at := owner.Listen(t)
			streams := []*handlertest.Stream{reader.Stream(t, at+links.LiveAgents(""), ""), reader.Stream(t, at+"/jobs/FB-1/log/stream?after=0", "")}
			start := time.Now()
			c.change(t, owner, reader, account)
			for i, s := range streams {
				var err error
				for err == nil {
					_, err = s.Next()
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
