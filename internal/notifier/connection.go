package notifier

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// gatherFor is how long topics are gathered after something was sent. The
	// first one after a quiet time goes at once.
	gatherFor = 5 * time.Millisecond
	// probeEvery is how often a quiet connection must prove that it is alive: a
	// network may swallow it without a word.
	probeEvery   = 10 * time.Second
	probeTimeout = 5 * time.Second
	sendTimeout  = 5 * time.Second
	lastTimeout  = time.Second
	// firstWait is the wait after a connection that worked.
	firstWait = 250 * time.Millisecond
)

// listen keeps a listening connection until ctx ends.
func (n *Notifier) listen(ctx context.Context) {
	n.persist(ctx, "listening for notifications", func(ctx context.Context, works func()) error {
		conn, err := n.connect(ctx)
		if err != nil {
			return err
		}
		defer closeConn(ctx, conn)
		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
		works()
		n.deliver(everything)
		return n.receive(ctx, conn)
	})
}

// receive delivers what arrives until the connection breaks.
func (n *Notifier) receive(ctx context.Context, conn *pgx.Conn) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, probeEvery)
		note, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			if from, topics := decode(note.Payload); from != n.instance {
				for _, t := range topics {
					n.deliver(t)
				}
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
	n.persist(ctx, "sending notifications", func(ctx context.Context, works func()) error {
		conn, err := n.connect(ctx)
		if err != nil {
			return err
		}
		defer closeConn(ctx, conn)
		works()
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
	if n.idle() {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	conn, err := n.connect(last)
	if err == nil {
		err = n.flush(last, conn)
		closeConn(last, conn)
	}
	if err != nil {
		n.log.Warn("the last notifications were not sent", "error", err)
	}
}

// flush sends all that is pending in one transaction, or keeps it pending.
func (n *Notifier) flush(ctx context.Context, conn *pgx.Conn) error {
	topics := n.take()
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
		n.giveBack(topics)
		n.toSend.Set()
		return err
	}
	return nil
}

// persist runs fn again and again until ctx ends, with growing waits while it
// fails. fn calls works once its connection stands. A loss is logged once, and
// so is its end.
func (n *Notifier) persist(ctx context.Context, what string, fn func(ctx context.Context, works func()) error) {
	failures := 0
	for ctx.Err() == nil {
		err := fn(ctx, func() {
			if failures > 0 {
				n.log.Info(what+" works again", "tries", failures)
			}
			failures = 0
		})
		if ctx.Err() != nil {
			return
		}
		if failures == 0 {
			n.log.Warn(what+" was interrupted", "error", err)
		}
		_ = signal.Sleep(ctx, max(firstWait, signal.Backoff(5*time.Second, 40*time.Second, failures)))
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
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	_ = conn.Close(limited)
}
