package notifier_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// scripted is a transport whose connection a test makes and breaks.
type scripted struct {
	receiver transport.Receiver
	fails    bool
	sent     []string
}

func (*scripted) Name() string { return "scripted" }

func (s *scripted) Run(ctx context.Context, r transport.Receiver) error {
	s.receiver = r
	<-ctx.Done()
	return nil
}

func (s *scripted) Send(_ context.Context, messages []string) error {
	if s.fails {
		return errors.New("away")
	}
	s.sent = append(s.sent, messages...)
	return nil
}

func (*scripted) Close(context.Context) {}

// inTime runs fn with a notifier that runs over s, in a time of its own.
func inTime(t *testing.T, s *scripted, fn func(n *notifier.Notifier)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := notifier.New(s, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		synctest.Wait()
		fn(n)
		cancel()
		<-ended
	})
}

func TestWhoDoesNotLookByItselfLooksAgainWithoutATransport(t *testing.T) {
	s := &scripted{}
	inTime(t, s, func(n *notifier.Notifier) {
		looks, watched := 0, 0
		n.Subscribe("log:", func(topic string) {
			if topic == "log:" {
				looks++
			}
		})
		n.SubscribeWatched("lane:", func(string) { watched++ })
		_ = signal.Sleep(context.Background(), time.Minute)
		synctest.Wait()
		if looks < 8 || looks > 24 {
			t.Errorf("%d looks in a minute without a connection; want one every 5 s or so", looks)
		}
		if watched != 0 {
			t.Errorf("who looks by itself was called %d times", watched)
		}
		s.receiver.Connected()
		if watched != 1 {
			t.Errorf("who looks by itself was called %d times when the connection came; want once", watched)
		}
		looks = 0
		_ = signal.Sleep(context.Background(), time.Minute)
		synctest.Wait()
		if looks != 0 {
			t.Errorf("%d looks in a minute with a connection", looks)
		}
		s.receiver.Disconnected(errors.New("cut"))
		_ = signal.Sleep(context.Background(), time.Minute)
		synctest.Wait()
		if looks < 8 {
			t.Errorf("%d looks in the minute after the connection was lost", looks)
		}
	})
}

// Processes that lose one broker get it back at the same moment.
func TestLookingAgainAfterAReconnectIsSpread(t *testing.T) {
	at := map[time.Duration]bool{}
	for range 20 {
		s := &scripted{}
		inTime(t, s, func(n *notifier.Notifier) {
			s.receiver.Connected()
			told := make(chan struct{}, 1)
			n.SubscribeWatched("lane:", func(string) { told <- struct{}{} })
			s.receiver.Disconnected(errors.New("cut"))
			began := time.Now()
			s.receiver.Connected()
			<-told
			at[time.Since(began)] = true
			if took := time.Since(began); took > time.Second {
				t.Errorf("told after %v", took)
			}
		})
	}
	if len(at) < 15 {
		t.Errorf("20 processes looked again at %d moments", len(at))
	}
}

func TestStatusSaysHowTopicsArrive(t *testing.T) {
	s := &scripted{}
	inTime(t, s, func(n *notifier.Notifier) {
		if got := n.Status(); got.Transport != "scripted" || got.Connected || !got.LastMessageAt.IsZero() {
			t.Errorf("before the connection %+v", got)
		}
		s.receiver.Connected()
		_ = signal.Sleep(context.Background(), time.Second)
		s.receiver.Receive("somebody\njob:1")
		if got := n.Status(); !got.Connected || !got.LastMessageAt.Equal(time.Now()) {
			t.Errorf("after a message %+v", got)
		}
		s.receiver.Disconnected(errors.New("cut"))
		if n.Status().Connected {
			t.Error("connected after the connection was lost")
		}
	})
}

// What could not be sent is sent once the connection is there, not after the long wait that
// failures have led to.
func TestTopicsAreKeptWhileTheTransportIsAway(t *testing.T) {
	s := &scripted{fails: true}
	inTime(t, s, func(n *notifier.Notifier) {
		n.Publish("job:1")
		_ = signal.Sleep(context.Background(), 5*time.Minute)
		synctest.Wait()
		n.Publish("job:2")
		s.fails = false
		s.receiver.Connected()
		synctest.Wait()
		if len(s.sent) != 1 {
			t.Errorf("%d messages were sent: %q", len(s.sent), s.sent)
		}
	})
}

func TestPollSendsAndReceivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notifier.New(transport.Poll{}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		near := listenTo(t, n, "job:")
		n.Publish("job:1")
		near.wants("job:1")
		near.wants("job:") // in its turn: nothing announces what others do
		if got := n.Status(); got.Transport != "poll" || got.Connected {
			t.Errorf("%+v", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}
