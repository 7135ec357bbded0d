package tracing

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Request begins the answer to a request, as a part of the caller's work where the request names that.
// Paths, queries and headers hold secrets and names of people: what is told of a request is its method,
// its route and the status of its answer.
func Request(r *http.Request) (*http.Request, *Span) {
	t := current.Load()
	if t == nil {
		return r, nil
	}
	// A caller's tracestate is text of up to the longest header: it is not passed on.
	ctx := propagator.Extract(r.Context(), propagation.MapCarrier{"traceparent": r.Header.Get("Traceparent")})
	ctx, span := t.Start(ctx, method(r), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(method(r))))
	return r.WithContext(ctx), &Span{span}
}

// Answered ends the answer to a request, which has a status.
func (s *Span) Answered(status int) {
	if s == nil {
		return
	}
	s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Route names the request that ctx is of by its route.
func Route(ctx context.Context, r *http.Request, route string) {
	if current.Load() == nil || route == "" {
		return
	}
	span := trace.SpanFromContext(ctx)
	span.SetName(method(r) + " " + route)
	span.SetAttributes(semconv.HTTPRoute(route))
}

// method returns the method of a request, of which there is a handful.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return r.Method
	}
	return "_OTHER"
}

// Transport sends the calls of a traced work as parts of it, and all others as they are; base where nothing
// is recorded.
func Transport(base http.RoundTripper) http.RoundTripper {
	if !On() {
		return base
	}
	return transport{base}
}

type transport struct{ base http.RoundTripper }

// RoundTrip sends a request with the traceparent of its own part.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanContextFromContext(r.Context()).IsValid() || strings.HasSuffix(r.URL.Path, "/fleet/logs") {
		return t.base.RoundTrip(r)
	}
	ctx, span := Begin(r.Context(), method(r), semconv.HTTPRequestMethodKey.String(method(r)))
	r = r.Clone(ctx)
	propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))
	answer, err := t.base.RoundTrip(r)
	if err != nil {
		span.End("unreachable")
		return nil, err
	}
	span.Answered(answer.StatusCode)
	return answer, nil
}
