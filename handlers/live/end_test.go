package live_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// The end of a stream comes after the time for its last message is over, as it
// often does with the times of the product.
func init() { live.SetWriteTime(live.SessionEvery - 2*time.Second) }

// Both kinds of stream show only what their reader may see still: they end when
// the session or the role is another one. TestAStreamAsksWhetherItsReaderIsStillIn
// says how soon.
func TestStreamsEndWithWhatTheyRestOn(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, owner *handlertest.Workspace, reader *handlertest.Site, account string){
		"another role": func(t *testing.T, owner *handlertest.Workspace, _ *handlertest.Site, account string) {
			handlertest.Read(t, owner.Post("/settings/members/"+account+"/role", url.Values{"role": {"viewer"}}), http.StatusSeeOther)
		},
		"logged out": func(t *testing.T, _ *handlertest.Workspace, reader *handlertest.Site, _ string) {
			handlertest.Read(t, reader.Post("/logout", nil), http.StatusSeeOther)
		},
		"a deleted row, elsewhere": func(t *testing.T, _ *handlertest.Workspace, reader *handlertest.Site, account string) {
			dbfactory.Exec(t, reader.DB, "DELETE FROM membership WHERE account_id = $1", account)
		},
	} {
		t.Run(name, func(t *testing.T) {
			owner := handlertest.NewWorkspace(t)
			owner.Job("Alpha")
			reader := owner.As(tenancy.RoleMember)
			account := dbfactory.Text(t, owner.DB, "SELECT account_id::text FROM membership WHERE role = 'member'")
			at := owner.Listen(t)
			streams := []*handlertest.Stream{reader.Stream(t, at+links.Live("agents", "", nil), ""), reader.Stream(t, at+"/live/jobs/FB-1/log?after=0", "")}
			change(t, owner, reader, account)
			for i, s := range streams {
				var err error
				for err == nil {
					_, err = s.Next()
				}
				if !errors.Is(err, io.EOF) {
					t.Errorf("stream %d was cut short: %v", i, err)
				}
			}
		})
	}
}
