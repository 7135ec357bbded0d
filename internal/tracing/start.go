package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	// queued is how many spans wait for the collector at most; more are dropped.
	queued = 2048
	// exportTimeout bounds one call of the collector, retryFor how long a batch is sent again.
	exportTimeout = 5 * time.Second
	retryFor      = 20 * time.Second
	// stopTimeout is how long the end of the process waits for the collector.
	stopTimeout = 3 * time.Second
	// longestAttribute bounds what a span says of one thing, such as a model's name, in bytes; longestComplaint
	// a line about a collector, whose answers are in it.
	longestAttribute = 256
	longestComplaint = 512
	// complainEvery is the shortest time between two lines about a collector that is away.
	complainEvery = 10 * time.Minute
)

// tracer records the spans of this process.
type tracer struct {
	trace.Tracer

	provider *sdktrace.TracerProvider
}

// current is nil while nothing is recorded.
var current atomic.Pointer[tracer]

var propagator = propagation.TraceContext{}

// Start begins to record the spans of a service, where the environment names a collector, until stop is
// called, which sends what is left within three seconds.
func Start(ctx context.Context, service, version string, log *slog.Logger) (stop func(), err error) {
	if !wanted() {
		return func() {}, nil
	}
	if p := protocol(); p != "" && p != "http/protobuf" {
		log.WarnContext(ctx, "traces are sent by http/protobuf only", "OTEL_EXPORTER_OTLP_PROTOCOL", p)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithTimeout(exportTimeout), otlptracehttp.WithRetry(
		otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: exportTimeout, MaxElapsedTime: retryFor}))
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		log.WarnContext(ctx, "OTEL_RESOURCE_ATTRIBUTES cannot be read", "error", err)
	}
	otel.SetErrorHandler(&complaints{log: log})
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithIDGenerator(idGenerator{}),
		sdktrace.WithRawSpanLimits(limits()),
		sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(queued), sdktrace.WithExportTimeout(retryFor+exportTimeout)))
	made := &tracer{provider.Tracer("github.com/fleetboard/fleetboard", trace.WithInstrumentationVersion(version),
		trace.WithSchemaURL(semconv.SchemaURL)), provider}
	current.Store(made)
	return func() {
		current.CompareAndSwap(made, nil)
		limited, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := provider.Shutdown(limited); err != nil {
			log.Warn("the last traces were not sent", "error", fmt.Sprintf("%.*s", longestComplaint, err))
		}
	}, nil
}

// On reports whether anything is recorded.
func On() bool { return current.Load() != nil }

// limits returns the limits of a span, those of the environment where they are lower.
func limits() sdktrace.SpanLimits {
	l := sdktrace.NewSpanLimits()
	if l.AttributeValueLengthLimit < 0 || l.AttributeValueLengthLimit > longestAttribute {
		l.AttributeValueLengthLimit = longestAttribute
	}
	return l
}

// wanted reports whether the environment names a collector.
func wanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func protocol() string {
	if p := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"); p != "" {
		return p
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
}

// complaints logs what goes wrong with traces, now and then.
type complaints struct {
	log  *slog.Logger
	last atomic.Int64
}

// Handle logs an error, unless it has just logged one.
func (c *complaints) Handle(err error) {
	now := time.Now().UnixNano()
	last := c.last.Load()
	if last != 0 && now-last < int64(complainEvery) || !c.last.CompareAndSwap(last, now) {
		return
	}
	c.log.Warn("traces are lost: the collector does not take them", "error", fmt.Sprintf("%.*s", longestComplaint, err))
}
