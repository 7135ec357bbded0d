// Package stream keeps answers of server-sent events open: it counts them, writes them in
// pieces, and ends them with their reader, their token or the server.
package stream

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// retryMillis is how long a reader waits before it connects again.
const retryMillis = 3000

// Stream is an open stream of one reader.
type Stream struct {
	limits Limits
	who    tenancy.Principal
	end    End
	leave  func()
}

// End says when a stream has to end, beside its reader's leaving.
type End struct {
	Server  <-chan struct{}                // closed when the server stops
	Allowed func(ctx context.Context) bool // whether the reader may go on
}

// Serve answers with what send writes until that ends, or the reader, its token or the
// server, which end the context of send. The place of the stream is free then.
func (s *Stream) Serve(ctx context.Context, w http.ResponseWriter, send func(context.Context, *Writer) error) error {
	defer s.leave()
	metrics.APIStreams.Inc()
	defer metrics.APIStreams.Dec()
	out := begin(w, s.limits.Write)
	// The end has a time of its own: that of the last piece may be over.
	defer out.allowTime()
	ctx, end := context.WithCancel(ctx)
	defer end()
	go s.watch(ctx, end)
	fmt.Fprintf(&out.buf, "retry: %d\n", retryMillis)
	err := send(ctx, out)
	if out.gone || ctx.Err() != nil {
		return nil // there is nobody to answer
	}
	return err
}

// watch ends the stream when the server stops, or soon after its token has ended.
func (s *Stream) watch(ctx context.Context, end func()) {
	defer end()
	every := s.limits.Check
	if s.who.Kind == tenancy.KindAgent {
		// What a process knows of revoked agents is a few seconds old at worst; with
		// this the stream still ends within five.
		every = min(every, s.limits.AgentCheck)
	}
	check := time.NewTicker(every)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.end.Server:
			return
		case <-check.C:
			if !s.end.Allowed(ctx) {
				return
			}
		}
	}
}
