package transport

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	channel = "fleetboard"
	// probeEvery is how often a connection without traffic is probed: a network may drop it
	// without an error.
	probeEvery   = 10 * time.Second
	probeTimeout = 5 * time.Second
	closeTimeout = time.Second
	// minWait is the shortest wait before a connection is made again. After failures in a row the
	// wait grows from backoffFirst to backoffLongest.
	minWait        = 250 * time.Millisecond
	backoffFirst   = 5 * time.Second
	backoffLongest = 40 * time.Second
)

// Listen sends with NOTIFY and receives with LISTEN, on two connections of its own.
type Listen struct {
	db *db.DB

	mu     sync.Mutex // held while conn is used
	conn   *pgx.Conn  // to send on; nil where it has to be made
	usedAt time.Time
}

// NewListen returns the transport over the database itself.
func NewListen(d *db.DB) *Listen { return &Listen{db: d} }

// Name is listen.
func (l *Listen) Name() string { return NameListen }

// Run keeps a connection that listens until ctx ends, and one to send on ready.
func (l *Listen) Run(ctx context.Context, r Receiver) error {
	var both sync.WaitGroup
	both.Go(func() { l.keepReady(ctx) })
	for failures := 0; ctx.Err() == nil; failures++ {
		l.listenOnce(ctx, r, &failures)
	}
	both.Wait()
	return nil
}

// listenOnce receives until the connection breaks, and then waits before it is made again, the
// longer the more have failed in a row.
func (l *Listen) listenOnce(ctx context.Context, r Receiver, failures *int) {
	err := l.listen(ctx, func() { *failures = 0; r.Connected() }, r.Receive)
	if ctx.Err() == nil {
		r.Disconnected(err)
		_ = signal.Sleep(ctx, max(minWait, signal.Backoff(backoffFirst, backoffLongest, *failures)))
	}
}

// listen receives until the connection breaks.
func (l *Listen) listen(ctx context.Context, connected func(), receive func(message string)) error {
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	connected()
	for {
		limited, cancel := context.WithTimeout(ctx, probeEvery)
		notification, err := conn.WaitForNotification(limited)
		cancel()
		switch {
		case err == nil:
			receive(notification.Payload)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			if err := probe(ctx, conn); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// Send sends all messages in one transaction.
func (l *Listen) Send(ctx context.Context, messages []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openSender(ctx); err != nil {
		return err
	}
	var b pgx.Batch
	for _, m := range messages {
		b.Queue("SELECT pg_notify($1, $2)", channel, m)
	}
	return l.closeAfter(ctx, l.conn.SendBatch(ctx, &b).Close())
}

// Close ends the connection that Send uses.
func (l *Listen) Close(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		closeConn(ctx, l.conn)
		l.conn = nil
	}
}

// keepReady makes the connection to send on before it is needed, and probes it while it is not
// used.
func (l *Listen) keepReady(ctx context.Context) {
	for ctx.Err() == nil {
		l.probeSender(ctx)
		_ = signal.Sleep(ctx, probeEvery)
	}
}

// probeSender drops a connection that broke unnoticed: Send makes another one.
func (l *Listen) probeSender(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openSender(ctx); err != nil || time.Since(l.usedAt) < probeEvery {
		return // Send tells of the error where there is something to send
	}
	_ = l.closeAfter(ctx, probe(ctx, l.conn))
}

// openSender makes the connection to send on where there is none. The caller holds mu.
func (l *Listen) openSender(ctx context.Context) (err error) {
	if l.conn == nil {
		l.conn, err = l.connect(ctx)
		l.usedAt = time.Now()
	}
	return err
}

// closeAfter drops the connection to send on where its use has failed. The caller holds mu.
func (l *Listen) closeAfter(ctx context.Context, err error) error {
	if err != nil {
		closeConn(ctx, l.conn)
		l.conn = nil
	}
	l.usedAt = time.Now()
	return err
}

// connect opens a connection within the time that a probe may take.
func (l *Listen) connect(ctx context.Context) (*pgx.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return l.db.Listen(limited)
}

func probe(ctx context.Context, conn *pgx.Conn) error {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return conn.Ping(limited)
}

func closeConn(ctx context.Context, conn *pgx.Conn) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = conn.Close(limited)
}
