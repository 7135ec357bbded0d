package live

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

// mostChannels is how many streams one connection carries.
const mostChannels = 32

// Multiplex answers with several streams over one connection, for a browser opens six to a
// server and its pages want one or two each. Of each stream the query has its address (s), where
// its reader was ("last", as Last-Event-ID) and the workspace of its page ("in", as
// layout.WorkspaceHeader). Each is served by its own route, as a request of its own: whoever may
// not open a stream by itself may not do so here, and its refusal ends no other stream.
//
// Each message begins with "to: N", for the stream that stands N-th in the query from 0 on. What
// comes after the first line is the stream's own message, or one of two about it:
// "head: {…}", its status, headers and, where it is refused, body; and "end:".
func Multiplex(c echo.Context, _ tenancy.Principal) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	requests, err := channelRequests(ctx, c.Request())
	if err != nil {
		return err
	}
	out, err := openWriter(c)
	defer out.end()
	if err != nil {
		return nil // the reader has gone; there is nobody to answer
	}
	shared := &sharedWriter{out: out, broken: cancel}
	var channels sync.WaitGroup
	for n, r := range requests {
		channels.Go(func() { (&channel{shared: shared, prefix: prefixes[n], header: http.Header{}}).serve(c.Echo(), r) })
	}
	channels.Wait()
	return nil
}

// channelRequests returns the requests of the streams that a query names. Fault: Malformed.
func channelRequests(ctx context.Context, r *http.Request) ([]*http.Request, error) {
	query := r.URL.Query()
	addresses, places, workspaces := query["s"], query["last"], query["in"]
	if n := len(addresses); n == 0 || n > mostChannels || len(places) != n || len(workspaces) != n {
		return nil, fault.New(fault.Malformed, "Name 1 to %d streams by s, last and in, each as often.", mostChannels)
	}
	requests := make([]*http.Request, len(addresses))
	for n, address := range addresses {
		at, err := url.Parse(address)
		if err != nil || at.IsAbs() || at.Host != "" || at.Path != links.LivePath && !strings.HasPrefix(at.Path, links.LivePath+"/") {
			return nil, fault.New(fault.Malformed, "A stream has an address that begins with %s.", links.LivePath)
		}
		one := r.Clone(ctx)
		one.URL, one.RequestURI, one.Form, one.Body = at, address, nil, http.NoBody
		one.Header.Del("Last-Event-ID")
		if places[n] != "" {
			one.Header.Set("Last-Event-ID", places[n])
		}
		one.Header.Set(layout.WorkspaceHeader, workspaces[n])
		requests[n] = one
	}
	return requests, nil
}

// prefixes are the first lines of the messages of each stream.
var prefixes = func() (all [mostChannels]*piece) {
	for n := range all {
		all[n] = &piece{plain: []byte("to: " + strconv.Itoa(n) + "\n")}
	}
	return all
}()

// sharedWriter writes the messages of several streams, each as a whole.
type sharedWriter struct {
	mu     sync.Mutex
	out    *Writer
	broken func() // ends all streams, once nothing can be written any more
}

func (s *sharedWriter) send(pieces ...*piece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.out.send(pieces...)
	if err != nil {
		s.broken()
	}
	return err
}
