package monitoring

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/dispatch/enrol"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// world is a running server with a workspace, and what breaks it.
type world struct {
	*dispatchtest.Fixture

	app *app.App
	s   *app.Services
	// cut ends the server's way to its database, and mends it.
	cut func(bool)
}

// start starts a server with settings beside the usual ones.
func start(t *testing.T, vars map[string]string) *world {
	t.Helper()
	d := dbtest.Open(t, db.Options{OwnerURL: dbtest.URL(t)})
	workspace := dbfactory.Workspace(t, d)
	way := newWay(t, dbfactory.Text(t, d, `SELECT current_setting('unix_socket_directories') || '|' || current_setting('port')`))
	conn := dbtest.Owner(t, d).Config()
	environ := map[string]string{"FLEETBOARD_DATA_DIR": t.TempDir(), "FLEETBOARD_LISTEN": "127.0.0.1:0",
		"DATABASE_URL": fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", conn.User, conn.Password, way.listener.Addr(), conn.Database)}
	for name, value := range vars {
		environ[name] = value
	}
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.Start(t.Context(), cfg, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { way.set(false); _ = a.Close() })
	s := a.Services()
	return &world{app: a, s: s, cut: way.set, Fixture: &dispatchtest.Fixture{T: t, Ctx: t.Context(), DB: d, Workspace: workspace,
		Owner: dbfactory.Person(workspace, tenancy.RoleOwner), Jobs: s.Jobs, Fleet: s.Fleet, Dispatch: s.Dispatch, Wake: s.Wake}}
}

// agent registers an agent of a factory of its own, and returns it with its token.
func (w *world) agent(name string) (tenancy.Principal, enrol.Registered) {
	w.T.Helper()
	in := fleet.Registration{Agent: name, BootID: "boot-1", MaxConcurrentJobs: 100, Factory: fleet.FactoryInfo{Name: "factory-of-" + name,
		OS: "linux", Engines: []string{"claude"}, Seats: 1000}}
	r, err := w.Dispatch.Register(w.Ctx, dbfactory.Enrolment(w.Workspace), in)
	if err != nil {
		w.T.Fatal(err)
	}
	return tenancy.Principal{Kind: tenancy.KindAgent, Workspace: w.Workspace, Name: name, Agent: r.Agent.ID, Factory: in.Factory.Name,
		Boot: in.BootID}, r
}

// hang has another server lead that does nothing any more.
func (w *world) hang() {
	dbfactory.Exec(w.T, w.DB, `INSERT INTO leadership AS l (name, holder, term, expires_at, acquired_at, last_cycle_at)
		VALUES ('coordinator', 'hung', 1, now() + interval '1 hour', now() - interval '2 minutes', now() - interval '2 minutes')
		ON CONFLICT (name) DO UPDATE SET holder = 'hung', term = l.term + 1, expires_at = excluded.expires_at,
			last_cycle_at = excluded.last_cycle_at`)
}

// series are the values of a scrape by their series, as Prometheus writes them.
type series map[string]string

// scrape reads what the server exposes.
func (w *world) scrape() series {
	w.T.Helper()
	text := get(w.T, w.app.URL()+"/metrics")
	list := series{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		at := strings.LastIndex(lines.Text(), " ")
		if at > 0 && !strings.HasPrefix(lines.Text(), "#") {
			list[lines.Text()[:at]] = lines.Text()[at+1:]
		}
	}
	return list
}

// until scrapes until the series are as wanted.
func (w *world) until(what string, wanted func(series) bool) series {
	w.T.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		if now := w.scrape(); wanted(now) {
			return now
		}
	}
	w.T.Fatalf("it never came to this: %s", what)
	return nil
}

// get reads a page of the server.
func get(t testing.TB, url string) string {
	t.Helper()
	got, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, got.StatusCode, err)
	}
	return string(body)
}

// way stands between a server and its database.
type way struct {
	listener net.Listener
	socket   string

	mu    sync.Mutex
	isCut bool
	open  map[net.Conn]bool
}

func newWay(t *testing.T, at string) *way {
	t.Helper()
	dir, port, _ := strings.Cut(at, "|")
	dir, _, _ = strings.Cut(dir, ",")
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{listener: l, socket: dir + "/.s.PGSQL." + port, open: map[net.Conn]bool{}}
	go w.accept()
	t.Cleanup(func() { _ = l.Close(); w.set(true) })
	return w
}

func (w *way) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("unix", w.socket) //nolint:noctx // it is closed when the way is cut
		if err != nil || !w.keep(near, far) {
			_ = near.Close()
			continue
		}
		for _, both := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				_, _ = io.Copy(both[0], both[1]) // the end of one is that of both
				_, _ = near.Close(), far.Close()
			}()
		}
	}
}

func (w *way) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		w.open[c] = true
		if w.isCut {
			_ = c.Close()
		}
	}
	return !w.isCut
}

func (w *way) set(isCut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = isCut
	for c := range w.open {
		if isCut {
			_ = c.Close()
			delete(w.open, c)
		}
	}
}

// owner is a connection with all rights until the test ends.
func (w *world) owner() *pgx.Conn { return dbtest.Owner(w.T, w.DB) }
