package notifications_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// space is a workspace with people who want to be told.
type space struct {
	*dispatchtest.Fixture
	all    *app.Services
	notify *notifications.Service
	hook   *receiver
}

func newSpace(t *testing.T, change ...func(*app.Options)) *space {
	t.Helper()
	f := dispatchtest.New(t)
	hook := newReceiver(t)
	all := apptest.Build(t, f.DB, append([]func(*app.Options){func(o *app.Options) {
		o.PublicURL = "https://fleet.example.com"
		o.Webhooks.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}}, change...)...)
	return &space{Fixture: f, all: all, notify: all.Notify, hook: hook}
}

// member makes a person of the workspace with a membership.
func (s *space) member(role tenancy.Role, name string) tenancy.Principal {
	s.T.Helper()
	who := dbfactory.Person(s.Workspace, role)
	who.Name = name
	dbfactory.Exec(s.T, s.DB, `INSERT INTO account (id, email, name) VALUES ($1, $2, $3)`, who.Account, who.Account.String()+"@example.com", name)
	dbfactory.Exec(s.T, s.DB, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, $3)`, s.Workspace, who.Account, string(role))
	return who
}

func (s *space) email(who tenancy.Principal) string { return who.Account.String() + "@example.com" }

// hooked is a member who is told by a webhook.
func (s *space) hooked(role tenancy.Role, name string, change ...func(*notifications.Change)) tenancy.Principal {
	s.T.Helper()
	who := s.member(role, name)
	yes, url := true, s.hook.URL+"/"+name
	c := notifications.Change{Channels: &notifications.ViaChange{Webhook: &yes}, WebhookURL: &url}
	for _, f := range change {
		f(&c)
	}
	s.save(who, c)
	return who
}

func (s *space) save(who tenancy.Principal, c notifications.Change) notifications.Settings {
	s.T.Helper()
	set, err := s.notify.Save(s.Ctx, who, c)
	if err != nil {
		s.T.Fatal(err)
	}
	return set
}

// look notes what is to be told, in all workspaces.
func (s *space) look() {
	s.T.Helper()
	s.notify.Everything()
	if _, err := s.notify.Look(s.Ctx); err != nil {
		s.T.Fatal(err)
	}
}

func (s *space) send() int {
	s.T.Helper()
	n, err := s.notify.Send(s.Ctx)
	if err != nil {
		s.T.Fatal(err)
	}
	return n
}

// round looks and sends.
func (s *space) round() { s.look(); s.send() }

func (s *space) count(sql string) int { s.T.Helper(); return dbfactory.Int(s.T, s.DB, sql) }

// hookMessage is what a webhook got.
type hookMessage struct {
	Path   string
	Header http.Header
	Raw    []byte
	Data   struct {
		Text      string
		Decisions []struct{ ID, Kind, State, Text, Detail, URL string }
	}
}

// receiver is a server that takes webhooks.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	list   []hookMessage
	answer func() int // nil is 200
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		m := hookMessage{Path: q.URL.Path, Header: q.Header, Raw: body}
		_ = json.Unmarshal(body, &m)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = append(r.list, m)
		if r.answer != nil {
			w.WriteHeader(r.answer())
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []hookMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hookMessage{}, r.list...)
}

func (r *receiver) respond(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func() int { return status }
}
