package notifier

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// gatherFor is how long topics are gathered after something was sent. After a pause the
	// first topic is sent at once.
	gatherFor = 5 * time.Millisecond
	// probeEvery is how often a connection without traffic is probed: a network may drop it
	// without an error.
	probeEvery   = 10 * time.Second
	probeTimeout = 5 * time.Second
	sendTimeout  = 5 * time.Second
	closeTimeout = time.Second
	// minWait is the shortest wait before a connection is made again. After failures in a row the
	// wait grows from backoffFirst to backoffLongest.
	minWait        = 250 * time.Millisecond
	backoffFirst   = 5 * time.Second
	backoffLongest = 40 * time.Second
)

// listen keeps a listening connection until ctx ends.
func (n *Notifier) listen(ctx context.Context) {
	n.keepConnected(ctx, "listening for notifications", func(ctx context.Context, connected func()) error {
		conn, err := n.connect(ctx)
		if err != nil {
			return err
		}
		defer closeConn(ctx, conn)
		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
		connected()
		n.deliver(allTopics)
		return n.receive(ctx, conn)
	})
}

// receive delivers what arrives until the connection breaks.
func (n *Notifier) receive(ctx context.Context, conn *pgx.Conn) error {
	for {
		limited, cancel := context.WithTimeout(ctx, probeEvery)
		notification, err := conn.WaitForNotification(limited)
		cancel()
		switch {
		case err == nil:
			sender, topics := decode(notification.Payload)
			if sender == n.instance {
				continue // delivered by Publish
			}
			for _, t := range topics {
				n.deliver(t)
			}
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			if err := probe(ctx, conn); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// send keeps a sending connection until ctx ends, and then sends what is left.
func (n *Notifier) send(ctx context.Context) {
	n.keepConnected(ctx, "sending notifications", func(ctx context.Context, connected func()) error {
		conn, err := n.connect(ctx)
		if err != nil {
			return err
		}
		defer closeConn(ctx, conn)
		connected()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-n.toSend.C():
			case <-time.After(probeEvery):
				if err := probe(ctx, conn); err != nil {
					return err
				}
				continue
			}
			if err := n.flush(ctx, conn); err != nil {
				return err
			}
			_ = signal.Sleep(ctx, gatherFor)
		}
	})
	n.sendLast(ctx)
}

// sendLast sends what was published just before the end, if anything.
func (n *Notifier) sendLast(ctx context.Context) {
	if n.nothingPending() {
		return
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	conn, err := n.connect(limited)
	if err == nil {
		err = n.flush(limited, conn)
		closeConn(limited, conn)
	}
	if err != nil {
		n.log.Warn("the last notifications were not sent", "error", err)
	}
}

// flush sends all that is pending in one transaction, or keeps it pending.
func (n *Notifier) flush(ctx context.Context, conn *pgx.Conn) error {
	topics := n.takePending()
	if len(topics) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	var b pgx.Batch
	for _, m := range encode(n.instance, topics) {
		b.Queue("SELECT pg_notify($1, $2)", channel, m)
	}
	if err := conn.SendBatch(limited, &b).Close(); err != nil {
		n.putBack(topics)
		n.toSend.Set()
		return err
	}
	return nil
}

// keepConnected runs fn again and again until ctx ends, with growing waits while it fails. fn
// calls connected once it has its connection. An interruption is logged once, and so is its end,
// with activity as the subject.
func (n *Notifier) keepConnected(ctx context.Context, activity string, fn func(ctx context.Context, connected func()) error) {
	failures := 0
	for ctx.Err() == nil {
		err := fn(ctx, func() {
			if failures > 0 {
				n.log.Info(activity+" works again", "tries", failures)
			}
			failures = 0
		})
		if ctx.Err() != nil {
			return
		}
		if failures == 0 {
			n.log.Warn(activity+" was interrupted", "error", err)
		}
		_ = signal.Sleep(ctx, max(minWait, signal.Backoff(backoffFirst, backoffLongest, failures)))
		failures++
	}
}

// connect opens a connection within the time that a probe may take.
func (n *Notifier) connect(ctx context.Context) (*pgx.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return n.db.Listen(limited)
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
