package keda_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/handlers/keda/externalscaler"
)

// lines is a log that several goroutines write.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// What fails that is no refusal is logged and not told, and a panic ends a call, not the server.
func TestWhatBreaksAKEDACallIsLogged(t *testing.T) {
	var log lines
	k, _ := dial(t, dispatchtest.New(t), slog.NewTextHandler(&log, nil))
	for token, cause := range map[string]string{"breaks": "the disk is full", "panics": "panic: a defect"} {
		_, err := k.IsActive(t.Context(), ref("pool", "gpu", "token", token))
		if status.Code(err) != codes.Internal || strings.Contains(err.Error(), cause) {
			t.Errorf("a token that %s is answered with %v", token, err)
		}
		stream, err := k.StreamIsActive(t.Context(), ref("pool", "gpu", "token", token))
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.Internal {
			t.Errorf("a stream with a token that %s is answered with %v", token, err)
		}
		if n := strings.Count(log.String(), cause); n != 2 {
			t.Errorf("%q is logged %d times:\n%s", cause, n, log.String())
		}
	}
	if _, err := k.IsActive(t.Context(), ref("pool", "gpu", "token", "bad")); status.Code(err) != codes.Unauthenticated ||
		strings.Contains(log.String(), "not known") {
		t.Errorf("a refusal is answered with %v, and logged:\n%s", err, log.String())
	}
}

// One caller's streams leave room for those of other workspaces, and come free when they end.
func TestStreamsOfOneCallerLeaveRoom(t *testing.T) {
	k, _ := dial(t, dispatchtest.New(t))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	open := func(ctx context.Context, token string) error {
		stream, err := k.StreamIsActive(ctx, ref("pool", "gpu", "token", token))
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	for n := range 50 {
		if err := open(ctx, "good"); err != nil {
			t.Fatalf("stream %d: %v", n, err)
		}
	}
	if err := open(ctx, "good"); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "50 streams") {
		t.Errorf("one more is answered with %v", err)
	}
	spec, err := k.StreamMetricSpec(ctx, ref("pool", "gpu", "token", "good"))
	if err == nil {
		_, err = spec.Recv()
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one of another kind is answered with %v", err)
	}
	if err := open(ctx, "other"); err != nil {
		t.Errorf("another workspace's is answered with %v", err)
	}
	if _, err := k.GetMetrics(ctx, &externalscaler.GetMetricsRequest{ScaledObjectRef: ref("pool", "gpu", "token", "good")}); err != nil {
		t.Errorf("the metrics are answered with %v", err)
	}
	leave()
	for err := open(t.Context(), "good"); err != nil; err = open(t.Context(), "good") {
		if status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
	}
}
