package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"fleetboard/handlers/status"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/signal"
	"fleetboard/internal/tenancy"
)

// streaming are the limits of streams of events.
var streaming = struct {
	perWorkspace int           // streams that a workspace may have open in one process
	perToken     int           // those of one token
	beat         time.Duration // the longest silence
	check        time.Duration // how soon a stream ends after its token, at most
	agentCheck   time.Duration // the same of an agent's, which costs no SQL to ask about
	poll         time.Duration // how often it looks although nothing was published
	write        time.Duration // how long the reader may take for one piece
}{perWorkspace: MaxStreams, perToken: MaxTokenStreams,
	beat: 15 * time.Second, check: 4 * time.Second, agentCheck: time.Second, poll: 5 * time.Second, write: 10 * time.Second}

// MaxStreams is how many streams of events a workspace may have open in one process,
// MaxTokenStreams how many of them one token may.
const (
	MaxStreams      = 200
	MaxTokenStreams = 20
)

const (
	// retryMillis is how long a reader waits before it connects again.
	retryMillis = 3000
	// streamPage is how many events are read at once.
	streamPage = 100
	// streamPiece is how many bytes are gathered before they are sent.
	streamPiece = 64 << 10
	// streamGather is how long events are gathered after news of one.
	streamGather = 40 * time.Millisecond
	// streamAgain is how soon a stream looks again where something was published
	// that a transaction still running keeps back, and streamLooks how often.
	streamAgain = 100 * time.Millisecond
	streamLooks = 20
)

// eventStream is one reader of the log.
type eventStream struct {
	*eventHandlers
	streamWriter

	ctx    context.Context //nolint:containedctx // of the call; it ends when the reader leaves
	who    tenancy.Principal
	filter eventlog.Filter
	at     eventlog.Cursor // place in the log
	told   eventlog.Cursor // the place that the reader knows
	looks  int             // how often an empty look is to be repeated soon
	leave  func()
}

// VisitStreamEventsResponse sends until the reader, its token or the server
// ends. A reader that is cut off goes on from the last id it got.
func (e *eventStream) VisitStreamEventsResponse(w http.ResponseWriter) error {
	defer e.leave()
	e.begin(w)
	// The end has a time of its own: that of the last piece may be over.
	defer e.allowTime()
	news := signal.New()
	if e.wake != nil {
		defer e.wake.Subscribe(eventlog.Topic(e.who.Workspace), func(string) { news.Set() })()
	}
	fmt.Fprintf(&e.buf, "retry: %d\n", retryMillis)
	e.place()
	err := e.flush()
	if err == nil {
		err = e.run(news.C())
	}
	if e.gone || e.ctx.Err() != nil {
		return nil // there is nobody to tell
	}
	return err
}

func (e *eventStream) run(news <-chan struct{}) error {
	every := streaming.check
	if e.who.Kind == tenancy.KindAgent {
		// What a process knows of revoked agents is a few seconds old at worst; with
		// this the stream still ends within five.
		every = min(every, streaming.agentCheck)
	}
	beat, check := time.NewTicker(streaming.beat), time.NewTicker(every)
	defer beat.Stop()
	defer check.Stop()
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		var err error
		select {
		case <-e.ctx.Done():
			return nil
		case <-e.done:
			return nil
		case <-check.C:
			if !e.mayGoOn() {
				return nil
			}
		case <-beat.C:
			err = e.beat()
		case <-news:
			e.looks = streamLooks
			look.Reset(streamGather)
		case <-look.C:
			var pause time.Duration
			pause, err = e.look()
			look.Reset(pause)
		}
		if err != nil {
			return err
		}
	}
}

// mayGoOn asks again what the token allows. A database that cannot be asked ends
// no stream.
func (e *eventStream) mayGoOn() bool { return mayGoOn(e.ctx, e.tokens, e.who) }

// mayGoOn asks again what a stream's token allows.
func mayGoOn(ctx context.Context, tokens Bearers, who tenancy.Principal) bool {
	now, err := tokens.Bearer(ctx, callOf(ctx).token)
	if err != nil {
		return status.OfError(err) >= http.StatusInternalServerError
	}
	return now.Workspace == who.Workspace && now.Can(tenancy.ReadBoard)
}

// look sends the next page and says when to look again.
func (e *eventStream) look() (time.Duration, error) {
	found, next, err := e.events.TailOf(e.ctx, e.who, e.filter, e.at, streamPage)
	if err != nil {
		return 0, err
	}
	for _, one := range found {
		if err := e.event(one); err != nil {
			return 0, err
		}
		if e.buf.Len() < streamPiece {
			continue
		}
		if err := e.flush(); err != nil {
			return 0, err
		}
	}
	moved := next != e.at
	e.at = next
	switch {
	case len(found) == streamPage:
		return 0, e.flush()
	case moved:
		// What was published with it may come later, and a filter that fits
		// little stops before the end.
		e.looks = min(max(e.looks, 1), 3)
	case e.looks > 0:
		e.looks--
	}
	pause := streamAgain
	if e.looks == 0 {
		pause = signal.Jitter(streaming.poll, 0.2)
	}
	return pause, e.flush()
}

// beat keeps the connection open, tells a dead one, and lets the reader know how
// far it has come where nothing of that was for it.
func (e *eventStream) beat() error {
	if e.told != e.at {
		e.place()
	} else {
		e.buf.WriteString(":\n\n")
	}
	return e.flush()
}

func (e *eventStream) event(one eventlog.Event) error {
	data, err := json.Marshal(eventModel(one, one.JobKey))
	if err != nil {
		return fmt.Errorf("encode event %d: %w", one.ID, err)
	}
	e.told = one.Cursor
	fmt.Fprintf(&e.buf, "id: %s\nevent: %s\ndata: %s\n\n", one.Cursor, one.Type, data)
	return nil
}

// place tells the reader where to go on after a break, with nothing to show.
func (e *eventStream) place() {
	e.told = e.at
	fmt.Fprintf(&e.buf, "id: %s\n\n", e.at)
}
