package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// site is a workspace on a server whose webhooks may lead to this machine.
type site struct {
	*app.Services

	t   *testing.T
	db  *db.DB
	who tenancy.Principal
}

func newSite(t *testing.T, change ...func(*app.Options)) *site {
	t.Helper()
	d := dbtest.New(t)
	return siteOn(t, d, dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner), change...)
}

func siteOn(t *testing.T, d *db.DB, who tenancy.Principal, change ...func(*app.Options)) *site {
	t.Helper()
	local := func(o *app.Options) { o.Webhooks.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	return &site{t: t, db: d, who: who, Services: apptest.Start(t, d, append([]func(*app.Options){local}, change...)...)}
}

// sends runs the process that sends until the test or the returned function ends it.
func (s *site) sends() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Webhooks.Run(ctx)
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	s.t.Cleanup(stop)
	return stop
}

// webhook makes a webhook to a receiver.
func (s *site) webhook(to *receiver, types ...string) webhooks.Webhook {
	s.t.Helper()
	w, secret, err := s.Webhooks.Create(s.t.Context(), s.who, webhooks.New{URL: to.URL + "/hook", Types: types}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	to.secrets = append(to.secrets, secret.Reveal())
	return w
}

func (s *site) get(w webhooks.Webhook) webhooks.Webhook {
	s.t.Helper()
	now, err := s.Webhooks.Get(s.t.Context(), s.who, w.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return now
}

func (s *site) job(title string) jobs.Job {
	s.t.Helper()
	made, err := s.Jobs.Create(s.t.Context(), s.who, nil, jobs.New{Spec: jobs.Spec{Title: title}})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Jobs[0]
}

// edit changes a job's title.
func (s *site) edit(j jobs.Job, title string) jobs.Job {
	s.t.Helper()
	j, err := s.Jobs.Patch(s.t.Context(), s.who, j.Key, jobs.Patch{Version: j.Version, Spec: jobs.Spec{Title: title}, Set: []string{"title"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

// deliveries reads those of a webhook, the oldest first.
func (s *site) deliveries(w webhooks.Webhook, state webhooks.DeliveryState) []webhooks.Delivery {
	s.t.Helper()
	list, _, err := s.Webhooks.Deliveries(s.t.Context(), s.who, w.ID, state, [16]byte{}, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// until waits for what must come.
func (s *site) until(what string, so func() bool) {
	s.t.Helper()
	processtest.Until(s.t, patience, what, so)
}

// passes has time pass for what waits for a retry, and wakes those who send.
func (s *site) passes(d time.Duration) {
	s.t.Helper()
	dbfactory.Exec(s.t, s.db, fmt.Sprintf(`DO $$ BEGIN
		UPDATE webhook_place SET failing_since = failing_since - make_interval(secs => %[1]f);
		UPDATE webhook_delivery SET next_at = next_at - make_interval(secs => %[1]f), retry_at = retry_at - make_interval(secs => %[1]f),
			created_at = created_at - make_interval(secs => %[1]f);
	END $$`, d.Seconds()))
	s.wakeUp()
}

func (s *site) wakeUp() { s.Wake.Publish("webhook:" + s.who.Workspace.String()) }

// arrival is what a receiver got.
type arrival struct {
	id   string
	head http.Header
	raw  []byte
	Type string `json:"type"`
	Data struct {
		Seq int64          `json:"seq"`
		Job string         `json:"job"`
		New map[string]any `json:"new"`
	} `json:"data"`
	status int
}

// receiver takes deliveries, and answers as answer says.
type receiver struct {
	*httptest.Server

	t       *testing.T
	secrets []string

	mu     sync.Mutex
	got    []arrival
	answer func(a arrival, w http.ResponseWriter) int
}

// newReceiver returns a receiver that answers 200, or what answer returns; 0 is for one that has answered.
func newReceiver(t *testing.T, answer func(a arrival, w http.ResponseWriter) int) *receiver {
	t.Helper()
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	a := arrival{head: q.Header, id: q.Header.Get("webhook-id"), status: http.StatusOK}
	a.raw, _ = io.ReadAll(q.Body)
	if err := json.Unmarshal(a.raw, &a); err != nil {
		r.t.Errorf("a body is no message: %v", err)
	}
	if r.answer != nil {
		a.status = r.answer(a, w)
	}
	r.mu.Lock()
	r.got = append(r.got, a)
	r.mu.Unlock()
	if a.status > 0 {
		w.WriteHeader(a.status)
		fmt.Fprint(w, "thanks")
	}
}

// all returns what arrived, with what was answered.
func (r *receiver) all() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]arrival{}, r.got...)
}

// taken returns what was taken, each message once, in the order of its first 2xx.
func (r *receiver) taken() (list []arrival) {
	seen := map[string]bool{}
	for _, a := range r.all() {
		if a.status == http.StatusOK && !seen[a.id] {
			seen[a.id] = true
			list = append(list, a)
		}
	}
	return list
}
