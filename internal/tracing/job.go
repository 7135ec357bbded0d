package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// The attributes of ours.
const (
	JobKey   = attribute.Key("fleetboard.job.id")
	EpochKey = attribute.Key("fleetboard.job.epoch")
)

// jobIDs are the ids of a job's trace and of its first span. Every process makes the same ones of the
// job's id: nothing is stored for them.
type jobIDs struct {
	trace trace.TraceID
	first trace.SpanID
}

// deriveIDs returns the ids of a job.
func deriveIDs(job ids.ID) (of jobIDs) {
	sum := sha256.Sum256([]byte("fleetboard job " + job.String()))
	copy(of.trace[:], sum[:16])
	copy(of.first[:], sum[16:])
	return of
}

// given is the key of the ids that the next span without a parent gets.
type given struct{}

// idGenerator makes random ids, but for spans of which the context says other ones.
type idGenerator struct{}

// NewIDs returns the ids of a span without a parent.
func (g idGenerator) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if of, ok := ctx.Value(given{}).(jobIDs); ok {
		return of.trace, of.first
	}
	_, _ = rand.Read(t[:]) // never fails
	return t, g.NewSpanID(ctx, t)
}

// NewSpanID returns the id of another span of a trace.
func (idGenerator) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// first begins the first span of a job's trace, with a link to the request that ctx is of.
func (t *tracer) first(ctx context.Context, job ids.ID) trace.Span {
	_, span := t.Start(context.WithValue(ctx, given{}, deriveIDs(job)), "create_job", trace.WithNewRoot(),
		trace.WithAttributes(JobKey.String(job.String())), trace.WithLinks(linksTo(ctx)...))
	return span
}

func linksTo(ctx context.Context) []trace.Link {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		return []trace.Link{{SpanContext: at}}
	}
	return nil
}

// JobCreated records that a job was made, as the first span of its trace.
func JobCreated(ctx context.Context, job ids.ID) {
	if t := current.Load(); t != nil {
		t.first(ctx, job).End()
	}
}

// JobClaimed records that a job was given to an agent, and returns the traceparent by which its attempt
// goes on; "" where nothing is recorded.
func JobClaimed(ctx context.Context, job ids.ID, epoch int64) string {
	t := current.Load()
	if t == nil {
		return ""
	}
	// The first span may have been recorded by another process. This one is made only to learn its context,
	// with the sampler's decision, and is never ended: nobody gets it.
	parent := t.first(ctx, job).SpanContext().WithRemote(true)
	_, span := t.Start(trace.ContextWithSpanContext(ctx, parent), "claim_job", trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(JobKey.String(job.String()), EpochKey.Int64(epoch)), trace.WithLinks(linksTo(ctx)...))
	span.End()
	return traceparent(span.SpanContext())
}
