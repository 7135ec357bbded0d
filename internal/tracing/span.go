package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Span is a part of the work. A nil one records nothing.
type Span struct{ span trace.Span }

// Begin begins a part of what ctx is of, until it is ended.
func Begin(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, *Span) {
	t := current.Load()
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, &Span{span}
}

// Continue is Begin for what another process has begun; parent is its traceparent, "" where it has none.
func Continue(ctx context.Context, parent, name string, attributes ...attribute.KeyValue) (context.Context, *Span) {
	if current.Load() == nil {
		return ctx, nil
	}
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{}) // what it is of, if anything, is another work
	ctx = propagator.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	return Begin(ctx, name, attributes...)
}

// Under returns ctx as one of the span's work.
func (s *Span) Under(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// Set adds attributes.
func (s *Span) Set(attributes ...attribute.KeyValue) {
	if s != nil {
		s.span.SetAttributes(attributes...)
	}
}

// End ends the part; kind is the kind of its failure, "" where it went well.
func (s *Span) End(kind string) {
	if s == nil {
		return
	}
	if kind != "" {
		s.span.SetStatus(codes.Error, kind)
		s.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	}
	s.span.End()
}

// Environ returns the variables by which a program goes on with the work of ctx.
func Environ(ctx context.Context) []string {
	if of := traceparent(trace.SpanContextFromContext(ctx)); of != "" {
		return []string{"TRACEPARENT=" + of}
	}
	return nil
}

// traceparent returns how another process names a span; "" of none.
func traceparent(of trace.SpanContext) string {
	if !of.IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagator.Inject(trace.ContextWithSpanContext(context.Background(), of), carrier)
	return carrier["traceparent"]
}
