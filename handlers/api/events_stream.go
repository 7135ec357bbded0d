package api

import (
	"context"
	"net/http"
	"time"

	"github.com/fleetboard/fleetboard/handlers/api/stream"
	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// streams are those of this process.
var streams = stream.New(stream.Limits{PerWorkspace: 200, PerAsker: 20, Beat: 15 * time.Second,
	Check: 4 * time.Second, AgentCheck: time.Second, Write: 10 * time.Second})

// openStream takes a place for a stream that ends with the server, and soon after the
// call's token. Fault: TooMany.
func openStream(ctx context.Context, d *Deps) (*stream.Stream, error) {
	who, token := principal(ctx), callFrom(ctx).token
	return streams.Open(who, d.Servers.Count(), stream.End{Server: d.Done, Allowed: func(ctx context.Context) bool {
		now, err := d.Tokens.Bearer(ctx, token)
		if err != nil { // a database that cannot be queried ends no stream
			return status.OfError(err) >= http.StatusInternalServerError
		}
		return now.Workspace == who.Workspace && now.Can(tenancy.ReadBoard)
	}})
}

// streamPoll is how often a stream of events looks although nothing was published.
var streamPoll = 5 * time.Second

const (
	// streamPage is how many events are read at once.
	streamPage = 100
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

	ctx    context.Context // of the call; it ends when the reader leaves
	stream *stream.Stream
	who    tenancy.Principal
	filter eventlog.Filter
	at     eventlog.Cursor // place in the log
	told   eventlog.Cursor // the place that the reader knows
	looks  int             // how often an empty look is to be repeated soon
	behind bool            // the page before was full: there is more to read at once
}

// VisitStreamEventsResponse sends until the reader, its token or the server
// ends. A reader that is cut off goes on from the last id it got.
func (e *eventStream) VisitStreamEventsResponse(w http.ResponseWriter) error {
	return e.stream.Serve(e.ctx, w, e.send)
}

func (e *eventStream) send(ctx context.Context, out *stream.Writer) error {
	news := signal.New()
	if e.Wake != nil {
		defer e.Wake.Subscribe(eventlog.Topic(e.who.Workspace), func(string) { news.Set() })()
	}
	e.place(out)
	err := out.Flush()
	beat := time.NewTicker(streams.Beat)
	defer beat.Stop()
	look := time.NewTimer(0)
	defer look.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			err = e.beat(out)
		case <-news.C():
			e.looks = streamLooks
			look.Reset(streamGather)
		case <-look.C:
			var pause time.Duration
			pause, err = e.look(ctx, out)
			look.Reset(pause)
		}
	}
	return err
}

// look sends the next page and says when to look again.
func (e *eventStream) look(ctx context.Context, out *stream.Writer) (time.Duration, error) {
	found, next, err := e.page(ctx)
	if err != nil {
		return 0, err
	}
	for _, one := range found {
		e.told = one.Cursor
		if err := out.Event(one.Cursor.String(), string(one.Type), eventModel(one, one.JobKey)); err != nil {
			return 0, err
		}
	}
	moved := next != e.at
	e.at, e.behind = next, len(found) == streamPage
	switch {
	case e.behind:
		return 0, out.Flush()
	case moved:
		// What was published with it may come later, and a filter that fits
		// little stops before the end.
		e.looks = min(max(e.looks, 1), 3)
	case e.looks > 0:
		e.looks--
	}
	pause := streamAgain
	if e.looks == 0 {
		pause = signal.Jitter(streamPoll, 0.2)
	}
	return pause, out.Flush()
}

// page reads the next page. Who catches up takes a turn for each.
func (e *eventStream) page(ctx context.Context) ([]eventlog.Event, eventlog.Cursor, error) {
	if e.behind {
		turn, err := e.Turns.Await(ctx, e.who)
		if err != nil {
			return nil, e.at, err
		}
		defer turn.End()
	}
	return e.Events.TailFiltered(ctx, e.who, e.filter, e.at, streamPage)
}

// beat keeps the connection open, detects a dead one, and lets the reader know how
// far it has come where nothing of that was for it.
func (e *eventStream) beat(out *stream.Writer) error {
	if e.told != e.at {
		e.place(out)
	} else {
		out.Beat()
	}
	return out.Flush()
}

// place sends where to go on after a break.
func (e *eventStream) place(out *stream.Writer) {
	e.told = e.at
	out.Place(e.at.String())
}
