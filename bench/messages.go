package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

func init() {
	register(line{"messages", "messages sent, heard by a thousand waiting readers, and searched", messages})
}

const (
	messagePublishers = 16
	messagesSent      = 20_000
	messagesBatch     = 100
	messageReaders    = 1000
	messagesHeard     = 500
	messagesFound     = 1_000_000
	messageSearches   = 200
	// messagePause lies between two messages whose way is measured.
	messagePause = 20 * time.Millisecond
)

// messages measures how many messages a second are taken, single and in batches, beside
// plain SQL that keeps a queue in one table; how long one is on its way to one of a thousand
// readers that wait; and a search.
func messages(ctx context.Context, s *environment) (figures []figure, err error) {
	err = s.withWeb(ctx, func(w *web) error {
		agents, err := w.register(ctx, s.sized(messageReaders, 20), 10)
		if err != nil {
			return err
		}
		n := s.sized(messagesSent, 400)
		single, err := publishMessages(ctx, w, agents, n, 1)
		if err != nil {
			return err
		}
		batch, err := publishMessages(ctx, w, agents, n, s.sized(messagesBatch, 10))
		if err != nil {
			return err
		}
		plain, err := plainQueue(ctx, w, n)
		if err != nil {
			return err
		}
		figures = append(
			figures,
			versus("messages sent, 16 senders over HTTP; one table by plain SQL, 16 connections", single, plain, "messages/s", n),
			versus("the same, 100 a request", batch, plain, "messages/s", n),
		)
		beside, err := s.nats(ctx, n)
		if err != nil {
			return err
		}
		if beside != nil {
			figures = append(
				figures,
				versus("messages sent, 16 senders over HTTP; NATS JetStream, synced", single, beside.Single, "messages/s", n),
				versus("the same, 100 a request; 100 at once", batch, beside.Batches, "messages/s", n),
			)
		}
		times, err := hearMessages(ctx, w, agents, s.sized(messagesHeard, 20))
		if err != nil {
			return err
		}
		figures = append(figures,
			within("send to answer of a waiting reader, 1,000 wait, p50", ms(percentile(times, 50)), 10, "ms", len(times)),
			within("send to answer of a waiting reader, 1,000 wait, p99", ms(percentile(times, 99)), 50, "ms", len(times)))
		found, err := searchMessages(ctx, w, s.sized(messagesFound, 1000), s.sized(messageSearches, 10))
		if err != nil {
			return err
		}
		figures = append(figures, within("search in a million messages, p95", ms(percentile(found, 95)), 100, "ms", len(found)))
		return nil
	})
	return figures, err
}

// message returns one as the API takes it.
func message(to string, n int) string {
	return fmt.Sprintf(
		`{"type":"custom.bench","to":{"agent":%q},"correlation_id":"bench-%d","payload":{"n":%d,"text":"the build of branch %d is green"}}`,
		to,
		n,
		n,
		n,
	)
}

// publishMessages sends n messages, so many in a request, and gives how many a second.
func publishMessages(ctx context.Context, w *web, agents []*agent, n, each int) (float64, error) {
	all, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for p := range messagePublishers {
		all.Go(func() error {
			from := w.caller(ctx, agents[p%len(agents)].token)
			defer from.close()
			for i := p * each; i < n; i += messagePublishers * each {
				if err := from.sendMessages(agents, i, each); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := all.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}

func (c *caller) sendMessages(agents []*agent, from, each int) error {
	if each == 1 {
		_, err := c.must(http.MethodPost, "/api/v1/messages", []byte(message(agentName(from%len(agents)), from)), http.StatusCreated)
		return err
	}
	body := []byte(`{"messages":[`)
	for i := range each {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, message(agentName((from+i)%len(agents)), from+i)...)
	}
	_, err := c.must(http.MethodPost, "/api/v1/messages/batch", append(body, `]}`...), http.StatusOK)
	return err
}

// plainQueue inserts n messages into one table, each in a transaction of its own, as
// queues on PostgreSQL do.
func plainQueue(ctx context.Context, w *web, n int) (float64, error) {
	owner, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return 0, err
	}
	defer func() { _ = owner.Close(ctx) }() // the database goes
	if _, err := owner.Exec(ctx, `CREATE TABLE bench_queue (msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, read_ct int DEFAULT 0,
		enqueued_at timestamptz DEFAULT now(), vt timestamptz DEFAULT now(), message jsonb);
		CREATE INDEX ON bench_queue (vt)`); err != nil {
		return 0, err
	}
	all, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for p := range messagePublishers {
		all.Go(func() error {
			conn, err := pgx.Connect(ctx, w.database)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(ctx) }() // the database goes
			for i := p; i < n; i += messagePublishers {
				if _, err := conn.Exec(ctx, "INSERT INTO bench_queue (message) VALUES ($1)", message("x", i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = all.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}

// hearMessages lets all agents wait for messages, sends one after another, and gives how long each
// was on its way.
func hearMessages(ctx context.Context, w *web, agents []*agent, n int) ([]time.Duration, error) {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	readers, waiting := errgroup.WithContext(waiting)
	heard, empty := make(chan string, len(agents)), make(chan struct{}, len(agents))
	for _, a := range agents {
		readers.Go(func() error {
			err := w.caller(waiting, a.token).listen(heard, empty)
			if waiting.Err() != nil {
				return nil //nolint:nilerr // the test has ended it
			}
			return err
		})
	}
	for range agents {
		select {
		case <-empty:
		case <-waiting.Done():
			return nil, readers.Wait()
		}
	}
	first, err := w.first(ctx, "owner-token")
	if err != nil {
		return nil, err
	}
	defer first.close()
	var times []time.Duration
	for i := range n {
		began := time.Now()
		body := fmt.Sprintf(`{"type":"custom.way","to":{"agent":%q},"payload":{"n":%d}}`, agentName(i%len(agents)), i)
		if _, err := first.must(http.MethodPost, "/api/v1/messages", []byte(body), http.StatusCreated); err != nil {
			return nil, err
		}
		select {
		case <-heard:
			times = append(times, time.Since(began))
		case <-time.After(10 * time.Second):
			return nil, errors.New("a message did not arrive")
		}
		<-time.After(messagePause)
	}
	stop()
	return times, readers.Wait()
}

// listen empties an inbox, says so, and then reports each message that comes.
func (c *caller) listen(heard chan<- string, empty chan<- struct{}) error {
	defer c.close()
	for {
		got, err := c.must(http.MethodGet, "/api/v1/messages?limit=100&types=custom.bench", nil, http.StatusOK)
		if err != nil {
			return err
		}
		page, err := inboxIn(got)
		if err != nil {
			return err
		}
		if len(page.Items) == 0 {
			break
		}
		if _, err := c.must(http.MethodPost, "/api/v1/messages/ack", fmt.Appendf(nil, `{"seq":%d}`, page.Next), http.StatusOK); err != nil {
			return err
		}
	}
	empty <- struct{}{}
	after := int64(0)
	for {
		got, err := c.must(
			http.MethodGet,
			fmt.Sprintf("/api/v1/messages?wait_seconds=50&types=custom.way&after=%d", after),
			nil,
			http.StatusOK,
		)
		if err != nil {
			return err
		}
		page, err := inboxIn(got)
		if err != nil {
			return err
		}
		after = page.Next
		for _, m := range page.Items {
			heard <- m.ID
		}
	}
}

// inbox is an answer of the inbox.
type inbox struct {
	Items []struct{ ID string }
	Next  int64 `json:"next_after"`
}

func inboxIn(got answer) (in inbox, err error) {
	err = json.Unmarshal(got.body, &in)
	return in, err
}

// searchMessages fills the workspace with n messages and looks for words of some of them.
func searchMessages(ctx context.Context, w *web, n, times int) ([]time.Duration, error) {
	owner, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = owner.Close(ctx) }() // the database goes
	if err := fillMessages(ctx, owner, n); err != nil {
		return nil, err
	}
	if _, err := owner.Exec(ctx, "ANALYZE message"); err != nil {
		return nil, err
	}
	person, err := w.first(ctx, "owner-token")
	if err != nil {
		return nil, err
	}
	defer person.close()
	var took []time.Duration
	for i := range times {
		words := []string{fmt.Sprintf("word%d", i%997), fmt.Sprintf("word%d%%20part%d", i%997, i), fmt.Sprintf("build%d", i),
			"%22in%20part" + fmt.Sprint(i) + "%22"}[i%4]
		began := time.Now()
		if _, err := person.must(http.MethodGet, "/api/v1/messages/search?q="+words, nil, http.StatusOK); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// fillMessages writes messages into the one workspace that there is, past the server.
func fillMessages(ctx context.Context, owner *pgx.Conn, n int) error {
	_, err := owner.Exec(ctx, `INSERT INTO message (workspace_id, seq, id, type, from_kind, from_name, to_kind, to_name, correlation_id,
			payload, digest)
		SELECT (SELECT id FROM workspace), i, gen_random_uuid(), 'custom.fill', 'agent', 'agent-' || i % 100, 'role', 'worker',
			'thread-' || i / 10,
			jsonb_build_object('text', 'word' || i % 997 || ' in part' || i % 10007 || ' of build' || i), sha256(i::text::bytea)
		FROM generate_series(1, $1::int) i`, n)
	return err
}
