package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/runloop"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Time-outs of the server. A long poll is answered within 50 s; streams move
// their write deadline on with each write.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 32 << 10
	// shutdownTimeout is how long requests under way may take to end.
	shutdownTimeout = 10 * time.Second
)

// App is a running server.
type App struct {
	log      *slog.Logger
	embedded *db.Embedded
	// clusterDir is where the embedded database is.
	clusterDir string
	db         *db.DB
	services   *Services
	listener   net.Listener
	metrics    net.Listener // nil where /metrics has no address of its own
	keda       net.Listener // nil where KEDA is not answered
	server     *http.Server
	setupURL   string
	turns      *quota.Turns // of expensive requests

	drain     time.Duration // how long it answers on when it ends
	ending    atomic.Bool
	done      chan struct{} // closed to end streams
	stop      context.CancelFunc
	work      *errgroup.Group
	closeOnce sync.Once
	closeErr  error

	// ballast is never touched, so that it uses no memory. The garbage collector runs when the
	// heap has grown by a share of itself: with a few MB in use that would be a hundred times
	// a second under load, and a fifth of the server's time.
	ballast []byte
}

const (
	ballastSize = 28 << 20 // bytes
	// heapGrowth is by how many percent the heap grows until the garbage collector runs:
	// less than Go's 100, since ten thousand waiting agents use 300 MB, and 100 would let
	// as much garbage collect beside it.
	heapGrowth = 75
)

// Start starts the server: database, migrations, first workspace, loops, listener. It
// returns once requests are answered; Close ends it. ctx bounds the start only.
func Start(ctx context.Context, cfg Config, log *slog.Logger) (_ *App, err error) {
	a := &App{
		log:     log,
		drain:   time.Duration(cfg.Network.DrainSeconds) * time.Second,
		done:    make(chan struct{}),
		turns:   quota.NewTurns(runtime.GOMAXPROCS(0)),
		ballast: make([]byte, ballastSize),
	}
	debug.SetGCPercent(heapGrowth)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.openDatabase(ctx, cfg); err != nil {
		return nil, err
	}
	if err := a.build(ctx, cfg); err != nil {
		return nil, err
	}
	boot, err := a.services.Accounts.Setup.Bootstrap(ctx, setup.BootstrapInput{
		AdminEmail: cfg.AdminEmail, AdminPassword: cfg.AdminPassword, DataDir: cfg.DataDir})
	if err != nil {
		return nil, fmt.Errorf("first workspace: %w", err)
	}
	if a.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	if err := a.listenForMetrics(ctx, cfg.Network.MetricsListen); err != nil {
		return nil, err
	}
	if err := a.listenForKEDA(ctx, cfg.Network.KEDAListen); err != nil {
		return nil, err
	}
	if boot.SetupToken != "" {
		a.setupURL = a.URL() + "/setup/" + boot.SetupToken
	}
	a.serve(cfg)
	return a, nil
}

// build makes the services, and encrypts data keys anew that an earlier secret key of the server
// has encrypted.
func (a *App) build(ctx context.Context, cfg Config) error {
	o := Options{HashCost: cfg.HashCost, PublicURL: cfg.PublicURL, Marks: cfg.markStore(), DataDir: cfg.DataDir, Log: a.log}
	var err error
	if o.IssuerNetworks, err = cfg.Network.issuerNetworks(); err != nil {
		return err
	}
	if o.Key, o.Earlier, err = cfg.keys(); err != nil {
		return err
	}
	o.ReachedAt = cfg.reachedAt()
	if o.Mail, err = cfg.Mail.mail(); err != nil {
		return err
	}
	if o.Blobs, err = cfg.Blobs.options(); err != nil {
		return fmt.Errorf("FLEETBOARD_BLOBS_URL: %w", err)
	}
	o.Blobs.Turns = a.turns
	if o.Webhooks.Allow, err = cfg.Webhooks.networks(); err != nil {
		return err
	}
	if o.Transport, err = cfg.Transport.open(a.db, cfg.DataDir, o.Key); err != nil {
		return err
	}
	a.services = Build(a.db, o)
	wrapped, err := a.services.Vault.Rewrap(ctx)
	if err != nil {
		return fmt.Errorf("wrap data keys: %w", err)
	}
	if wrapped.Done > 0 {
		a.log.InfoContext(ctx, "data keys are wrapped by the present secret key now", "keys", wrapped.Done)
	}
	if wrapped.Locked > 0 {
		a.log.ErrorContext(ctx, "data keys are wrapped by a secret key that this server was not given: set FLEETBOARD_PREVIOUS_SECRET_KEY",
			"keys", wrapped.Locked)
	}
	return nil
}

// openDatabase connects to the database that the configuration names, or to an
// embedded one in the data directory, and brings its schema up to date.
func (a *App) openDatabase(ctx context.Context, cfg Config) (err error) {
	url := cfg.DatabaseURL
	if url == "" {
		if err := backup.CheckFinished(cfg.DataDir); err != nil {
			return err
		}
		if a.embedded, err = db.StartEmbedded(ctx, cfg.DataDir, a.log); err != nil {
			return err
		}
		url = a.embedded.URL()
		a.clusterDir = a.embedded.Dir()
	} else if err := db.CheckFinished(ctx, url); err != nil {
		return err
	}
	if err := db.Migrate(ctx, url); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if a.db, err = db.Open(ctx, db.Options{OwnerURL: url, AppURL: cfg.AppDatabaseURL}); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	advice, err := a.db.Advice(ctx)
	for _, text := range advice {
		a.log.WarnContext(ctx, "the database server should be set up otherwise", "lack", text)
	}
	return err
}

// serve makes the handlers and starts all tasks.
func (a *App) serve(cfg Config) {
	limits := quota.New(cfg.Network.RateLimit, a.services.Servers.Count)
	clientAddress := cfg.Network.ClientAddress()

	pages := a.services.Pages()
	pages.Sessions = web.NewSessions(sessions.NewStore(a.db), cfg.Secure())
	pages.Secure = cfg.Secure()
	pages.Provider = cfg.OIDC.Provider(a.publicURL(cfg))
	pages.Version = Version()
	pages.EnrolmentTokenFile = cfg.EnrolmentTokenFile()
	pages.Ready = a.readiness()
	pages.Backups = a.backupStatus(cfg)
	pages.Done = a.done
	pages.Quota = limits
	pages.Turns = a.turns
	pages.ClientAddress = clientAddress

	calls := a.services.API()
	calls.Build = build()
	calls.Done = a.done
	calls.Quota = limits
	calls.Turns = a.turns
	calls.ClientAddress = clientAddress
	apiServer := api.New(calls)

	mux := http.NewServeMux()
	mux.Handle("/api/", apiServer)
	a.answerTools(mux, apiServer, cfg)
	mux.Handle("/", handlers.New(pages))
	guard := func(next http.Handler) http.Handler {
		return edge.Headers(cfg.Secure(), edge.AllowedHosts(cfg.hosts(), apiServer.Refuse, next))
	}
	a.server = a.httpServer(edge.Count(edge.Trace(guard(mux))))
	tasks := []runloop.Task{
		{Name: "notifier", Run: a.services.Wake.Run},
		{Name: "offers", Run: a.services.Announce.Run},
		{Name: "revocations", Run: a.services.Accounts.Tokens.Watch},
		{Name: "servers", Run: a.services.Servers.Run},
		a.keepMarks(cfg),
		{Name: "witness", Run: a.services.Witness.Run},
		{Name: "proof", Run: a.services.Proof.Run},
		{Name: "coordinator", Run: a.services.Coordinator.Run},
		{Name: "webhooks", Run: a.services.Webhooks.Run},
	}
	tasks = append(tasks, a.answerKEDA()...)
	tasks = append(tasks, a.keepBackups(cfg)...)
	a.run(append(tasks, a.answerMetrics(cfg, mux, guard)...)...)
}

// httpServer returns a server with time limits for its clients.
func (a *App) httpServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:                      handler,
		DisableGeneralOptionsHandler: true, // OPTIONS of the whole server ("*") pass the handler too
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
}

// run starts what runs until Close: the tasks, the supervision of an embedded database,
// the server.
func (a *App) run(tasks ...runloop.Task) {
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.work = &errgroup.Group{}
	if a.embedded != nil {
		tasks = append(tasks, runloop.Task{Name: "embedded database", Run: a.embedded.Supervise})
	}
	a.work.Go(func() error { return runloop.Keep(ctx, a.log, tasks...) })
	a.work.Go(func() error {
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
}

// URL returns the address that the server answers on.
func (a *App) URL() string {
	address := a.listener.Addr().(*net.TCPAddr) // listens on tcp
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(address.Port))
}

// Services returns the services of the server.
func (a *App) Services() *Services { return a.services }

// publicURL returns the address by which people reach the server.
func (a *App) publicURL(cfg Config) string { return cmp.Or(cfg.PublicURL, a.URL()) }

// SetupURL returns the link by which the first owner is set up; "" once that is done.
func (a *App) SetupURL() string { return a.setupURL }

// Wait returns when the server has ended, with the reason unless Close ended it.
func (a *App) Wait() error { return a.work.Wait() }

// Close ends the server in order: for the time of FLEETBOARD_DRAIN_SECONDS only /readyz fails; then
// streams and waiting claims end, then requests under way, loops, connections, and last an embedded
// database that this process started.
func (a *App) Close() error {
	a.closeOnce.Do(func() { a.closeErr = a.close() })
	return a.closeErr
}

func (a *App) close() error {
	if a.ending.Store(true); a.server != nil {
		<-time.After(a.drain)
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var failed []error
	if a.server != nil {
		// Answers from now on say that their connection closes. Otherwise whoever waited, and asks
		// again at once, would do so on a connection that is about to be cut.
		a.server.SetKeepAlivesEnabled(false)
	}
	close(a.done)
	if a.services != nil {
		a.services.Close()
	}
	if a.server != nil {
		failed = append(failed, a.server.Shutdown(ctx))
		a.stop()
		failed = append(failed, a.work.Wait())
	} else if a.listener != nil {
		failed = append(failed, a.listener.Close())
		if a.metrics != nil {
			failed = append(failed, a.metrics.Close())
		}
		if a.keda != nil {
			failed = append(failed, a.keda.Close())
		}
	}
	if a.db != nil {
		a.db.Close()
	}
	if a.embedded != nil {
		failed = append(failed, a.embedded.Stop(ctx))
	}
	return errors.Join(failed...)
}
