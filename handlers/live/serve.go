package live

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// The clocks of a stream.
const (
	heartbeatEvery = 15 * time.Second
	// SessionEvery is how soon a stream ends after its session or its role has.
	SessionEvery = 5 * time.Second
	// oldest is when a stream ends and the page connects again, give or take a
	// fifth so that they do not all come at once.
	oldest = 20 * time.Minute
)

// Feed is what one connection shows: what C brings, one after another.
type Feed[T any] interface {
	// Begin sends what the reader has missed.
	Begin(ctx context.Context, out *Writer) error
	// C is called before each wait.
	C() <-chan T
	// Take shows what C brought; ok is false where C is closed. The stream ends
	// where more is false.
	Take(ctx context.Context, v T, ok bool) (more bool, err error)
	// Beat keeps the connection open.
	Beat(ctx context.Context) error
}

// Streams are the open connections of one kind.
type Streams struct {
	site *web.Site
	open *quota.Seats
}

// NewStreams returns none.
func NewStreams(s *web.Site) *Streams { return &Streams{site: s, open: quota.NewSeats()} }

// Serve answers a request with a stream, unless too many are open. prepare refuses
// what cannot be shown, before the answer has begun; done ends what it began.
func Serve[T any](s *Streams, c echo.Context, who tenancy.Principal, prepare func() (feed Feed[T], done func(), err error)) error {
	leave, full := s.open.Enter(askers(who, s.site.Servers.Count())...)
	if full != nil {
		metrics.StreamsRefused.Inc()
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(heartbeatEvery/time.Second)))
		return c.String(http.StatusServiceUnavailable, "Too many live pages are open.\n")
	}
	defer leave()
	metrics.PageStreams.Inc()
	defer metrics.PageStreams.Dec()
	ctx := c.Request().Context()
	feed, done, err := prepare()
	if err != nil {
		return err
	}
	defer done()
	changed, stop := s.membersChanged(who)
	defer stop()
	out, err := openWriter(c)
	defer out.end()
	if err == nil {
		err = feed.Begin(ctx, out)
	}
	if err == nil {
		err = run(ctx, s.site.Done, changed, feed, func() bool { return s.site.StillSignedIn(c, who) })
	}
	if ctx.Err() != nil {
		return nil // the reader has gone; there is nobody to answer
	}
	return err
}

// Place is where in a log the reader is: where its last connection ended, else
// where its page was made.
func Place(c echo.Context) string {
	if id := c.Request().Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return c.QueryParam("after")
}

// membersChanged notifies of changes of the workspace's members, so that a stream
// need not wait for the next check. stop ends that.
func (s *Streams) membersChanged(who tenancy.Principal) (changed <-chan struct{}, stop func()) {
	news := signal.New()
	return news.C(), s.site.Accounts.Members.OnMembers(who.Workspace, news.Set)
}

// run feeds a connection until the reader, the session, the server or the stream's
// time ends.
func run[T any](ctx context.Context, server, members <-chan struct{}, feed Feed[T], stillIn func() bool) error {
	beat, check := time.NewTicker(heartbeatEvery), time.NewTicker(SessionEvery)
	defer beat.Stop()
	defer check.Stop()
	age := time.NewTimer(signal.Jitter(oldest, 0.2))
	defer age.Stop()
	for more := true; more; {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-server:
			return nil
		case <-age.C:
			return nil
		case <-members:
			more = stillIn()
		case <-check.C:
			more = stillIn()
		case <-beat.C:
			err = feed.Beat(ctx)
		case v, ok := <-feed.C():
			more, err = feed.Take(ctx, v, ok)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
