package live_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// renderings counts, as the context of a stream, how often a picture is begun to
// be drawn under it: templ reads its own value from the context each time.
type renderings struct {
	context.Context
	begun *atomic.Int64
}

func (r renderings) Value(key any) any {
	if fmt.Sprintf("%T", key) == "templ.contextKeyType" {
		r.begun.Add(1)
	}
	return r.Context.Value(key)
}

// theMessage returns what the boards of each role get of one change: each of them
// one message, the same as all others of its role.
func theMessage(t *testing.T, what string, all []handlertest.Reader) map[tenancy.Role]handlertest.Message {
	t.Helper()
	same := map[tenancy.Role]handlertest.Message{}
	for _, r := range all {
		m, err := r.Stream.Next()
		if err != nil {
			t.Fatalf("%s: %s: %v", what, r.Name, err)
		}
		if first, known := same[r.Role]; known && first != m {
			t.Fatalf("%s: %s was told something else than the first one:\n%s\n%s", what, r.Name, m.Data, first.Data)
		}
		same[r.Role] = m
	}
	return same
}

// parts are what a message shows: whole columns, single cards, the totals.
var parts = regexp.MustCompile(`hx-target="#(col-|card-|board-total)`)

// Forty boards of two roles: whatever changes is drawn once for each role, however
// many look on, and each board gets it once, with the card as it is now for
// those of its role, and no other card.
func TestAChangeIsDrawnOnceForEachRole(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Live.Settle = time.Hour // what follows from changes is sent apart
	var begun atomic.Int64
	server := httptest.NewUnstartedServer(d.Server)
	server.Config.BaseContext = func(net.Listener) context.Context { return renderings{context.Background(), &begun} }
	server.Start()
	t.Cleanup(server.Close)
	later := time.Now().Add(24 * time.Hour)
	for _, title := range []string{"Alpha", "Beta", "Gamma", "Delta"} {
		d.Job(title, func(n *jobs.New) { n.NotBefore = &later })
	}
	d.Job("Of another column")
	dbfactory.Readable(t, d.DB) // what is sent later brings its column along
	all := d.Readers(t, server.URL, 2*live.StreamsPerPerson)
	d.Settled(t, "FB-5", all)
	block := func(key string) {
		d.Act(t, key, actions.Action{Verb: jobs.ByBlock, Reason: "because of " + key})
	}
	for _, c := range []struct {
		what, key, column, shows string
		change                   func()
		drawn                    int // parts of the message
	}{
		{"the first change", "FB-2", "waiting", "because of FB-2", func() { block("FB-2") }, 2},
		{"the same column", "FB-3", "waiting", "because of FB-3", func() { block("FB-3") }, 2},
		{"a card where it stands", "FB-2", "", "Better", func() { d.Rename(t, "FB-2", "Better") }, 1},
		{"from column to column", "FB-1", "failed", "Alpha", func() {
			d.Act(t, "FB-1", actions.Action{Verb: jobs.ByCancel, Reason: "no use"})
		}, 3},
	} {
		before := begun.Load()
		c.change()
		said := theMessage(t, c.what, all)
		if n := begun.Load() - before; n != int64(2*c.drawn) {
			t.Errorf("%s: %d parts were drawn for %d boards of two roles; want %d for each role", c.what, n, len(all), c.drawn)
		}
		version := strconv.Itoa(d.Version(t, c.key))
		for role, m := range said {
			if n := len(parts.FindAllString(m.Data, -1)); n != c.drawn || m.ID == "" {
				t.Errorf("%s: a %s is told %d parts with the place %q; want %d", c.what, role, n, m.ID, c.drawn)
			}
			card := handlertest.Parse(t, m.Data).Find("#card-" + strings.ToLower(c.key))
			if card.Length() != 1 || card.AttrOr("data-version", "") != version || !strings.Contains(card.Text(), c.shows) ||
				c.column != "" && card.Closest("#col-"+c.column).Length() != 1 {
				t.Errorf("%s: a %s sees %d cards of %s, version %s, %q", c.what, role, card.Length(), c.key, card.AttrOr("data-version", ""), card.Text())
			}
			if may := card.AttrOr("data-moves", "") != "" && card.Find("form").Length() > 0; may != (role == tenancy.RoleMember) {
				t.Errorf("%s: that a %s may move the card is %v", c.what, role, may)
			}
			if others := handlertest.Parse(t, m.Data).Find("li[data-version]").Length() - 1; others != 0 {
				t.Errorf("%s: a %s is sent %d cards that did not change", c.what, role, others)
			}
		}
		if said[tenancy.RoleMember].ID != said[tenancy.RoleViewer].ID {
			t.Errorf("%s: the roles are told of different places", c.what)
		}
	}
}
