package notifier_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard collects the topics of one subscriber.
type heard struct {
	t      *testing.T
	topics chan string
}

func listenTo(t *testing.T, n *notifier.Notifier, prefix string) heard {
	h := heard{t, make(chan string, 20_000)}
	t.Cleanup(n.Subscribe(prefix, func(topic string) { h.topics <- topic }))
	return h
}

// wants waits for the next topic and compares it.
func (h heard) wants(topic string) {
	h.t.Helper()
	select {
	case got := <-h.topics:
		if got != topic {
			h.t.Fatalf("heard %q, want %q", got, topic)
		}
	case <-time.After(time.Minute):
		h.t.Fatalf("nothing was heard, want %q", topic)
	}
}

// run starts a notifier over LISTEN and waits until it listens.
func run(t *testing.T, d *db.DB) *notifier.Notifier {
	t.Helper()
	return runOver(t, transport.NewListen(d))
}

func runOver(t *testing.T, over notifier.Transport) *notifier.Notifier {
	t.Helper()
	n := notifier.New(over, slog.New(slog.DiscardHandler))
	ready := listenTo(t, n, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	ready.wants("ready")
	return n
}

func TestTopicsReachBothProcesses(t *testing.T) {
	for _, name := range []string{transport.NameListen, transport.NameNATS} {
		t.Run(name, func(t *testing.T) {
			d := dbtest.New(t)
			topicsReachBoth(t, runOver(t, transporttest.Named(t, d, name)), runOver(t, transporttest.Named(t, d, name)))
		})
	}
}

func topicsReachBoth(t *testing.T, one, two *notifier.Notifier) {
	near, far := listenTo(t, one, "job:"), listenTo(t, two, "job:")
	one.Publish("agent:1", "job:1")
	near.wants("job:1")
	far.wants("job:1")
	two.Publish("job:2")
	far.wants("job:2")
	near.wants("job:2")
	// Own messages come back and must not be received again: job:3 would not be next.
	one.Publish("job:3")
	near.wants("job:3")
	two.Publish("job:4")
	near.wants("job:4")
}

func TestPublishWorksWithoutADatabase(t *testing.T) {
	n := notifier.New(transport.Poll{}, slog.New(slog.DiscardHandler))
	h := listenTo(t, n, "job:")
	n.Publish("job:1")
	h.wants("job:1")
	cancel := n.Subscribe("job:", func(string) { t.Error("called after cancel") })
	cancel()
	n.Publish("job:2")
	h.wants("job:2")
}

// terminate ends the connections whose last statement was like this.
func terminate(t *testing.T, d *db.DB, statement string) {
	t.Helper()
	var n int
	err := dbtest.Owner(t, d).QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 5000))
		FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE $1 AND pid <> pg_backend_pid()`, statement).Scan(&n)
	if err != nil || n == 0 {
		t.Fatalf("%d connections were ended (%v)", n, err)
	}
}

func TestALostListenerComesBackAndSaysLookAgain(t *testing.T) {
	d := dbtest.New(t)
	one, two := run(t, d), run(t, d)
	far := listenTo(t, two, "job:")
	one.Publish("job:1")
	far.wants("job:1")
	terminate(t, d, "LISTEN%")
	far.wants("job:")
	one.Publish("job:2")
	far.wants("job:2")
}

func TestALostSenderKeepsItsTopics(t *testing.T) {
	d := dbtest.New(t)
	one, two := run(t, d), run(t, d)
	far := listenTo(t, two, "job:")
	one.Publish("job:1")
	far.wants("job:1")
	terminate(t, d, "%pg_notify%")
	one.Publish("job:2")
	far.wants("job:2")
}

func TestManyTopicsAreFewMessages(t *testing.T) {
	d := dbtest.New(t)
	one, two := run(t, d), run(t, d)
	far := listenTo(t, two, "job:")
	raw, err := d.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close(context.Background()) }()
	if _, err := raw.Exec(t.Context(), "LISTEN fleetboard"); err != nil {
		t.Fatal(err)
	}
	const topics = 10_000
	for i := range topics {
		one.Publish(fmt.Sprintf("job:%d", i), "job:again")
	}
	seen := map[string]bool{}
	for len(seen) < topics+1 {
		select {
		case topic := <-far.topics:
			seen[topic] = true
		case <-time.After(time.Minute):
			t.Fatalf("only %d topics arrived", len(seen))
		}
	}
	one.Publish("end")
	messages := 0
	for {
		note, err := raw.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(note.Payload, "\nend") {
			break
		}
		messages++
	}
	if messages > 200 {
		t.Errorf("%d topics took %d messages", topics, messages)
	}
	t.Logf("%d topics took %d messages", topics, messages)
}

// A process that ends sends what it still has.
func TestTheLastTopicIsSent(t *testing.T) {
	d := dbtest.New(t)
	two := run(t, d)
	far := listenTo(t, two, "job:")
	one := notifier.New(transport.NewListen(d), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	listening := listenTo(t, one, "")
	ended := make(chan error, 1)
	go func() { ended <- one.Run(ctx) }()
	listening.wants("")
	one.Publish("job:1")
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	far.wants("job:1")
}
