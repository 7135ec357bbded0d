package keda_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/handlers/keda"
	"github.com/fleetboard/fleetboard/handlers/keda/externalscaler"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// bearers know the tokens of a principal, of somebody in another workspace, and two that break.
type bearers struct{ who, other tenancy.Principal }

func (b bearers) Bearer(_ context.Context, token string) (tenancy.Principal, error) {
	switch token {
	case "good":
		return b.who, nil
	case "other":
		return b.other, nil
	case "breaks":
		return tenancy.Principal{}, errors.New("the disk is full")
	case "panics":
		panic("a defect")
	}
	return tenancy.Principal{}, fault.New(fault.TokenInvalid, "The token is not known.")
}

type nobody struct{}

func (nobody) Publish(...string) {}

// dial returns KEDA's client of a server on the workspace of a fixture, and what ends the server.
func dial(t *testing.T, w *dispatchtest.Fixture, log ...slog.Handler) (externalscaler.ExternalScalerClient, chan struct{}) {
	t.Helper()
	list, done := pools.NewService(w.DB, nobody{}), make(chan struct{})
	_, _, err := list.Put(w.Ctx, w.Owner, "gpu", pools.Template{Offers: pools.Offers{Capabilities: []string{"has:gpu"}, Seats: 2}, Max: 3})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := dbfactory.Person(dbfactory.Workspace(t, w.DB), tenancy.RoleOwner)
	if _, _, err := list.Put(w.Ctx, other, "gpu", pools.Template{Offers: pools.Offers{Seats: 1}, Max: 1}); err != nil {
		t.Fatal(err)
	}
	server := keda.New(list, bearers{w.Owner, other}, done, slog.New(append(log, slog.DiscardHandler)[0]))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return externalscaler.NewExternalScalerClient(connection), done
}

func ref(pairs ...string) *externalscaler.ScaledObjectRef {
	said := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		said[pairs[i]] = pairs[i+1]
	}
	return &externalscaler.ScaledObjectRef{Name: "workers", Namespace: "default", ScalerMetadata: said}
}

// KEDA learns at once that a pool has become active, and how many factories it should have.
func TestKEDAScalesAPool(t *testing.T) {
	w := dispatchtest.New(t)
	k, done := dial(t, w)
	gpu := ref("pool", "gpu", "tokenFromEnv", "good")
	value := func() float64 {
		t.Helper()
		m, err := k.GetMetrics(t.Context(), &externalscaler.GetMetricsRequest{ScaledObjectRef: gpu, MetricName: "factories"})
		if err != nil || len(m.GetMetricValues()) != 1 {
			t.Fatalf("the metrics are %v, %v", m, err)
		}
		return m.GetMetricValues()[0].GetMetricValueFloat()
	}
	spec, err := k.GetMetricSpec(t.Context(), gpu)
	if err != nil || spec.GetMetricSpecs()[0].GetTargetSizeFloat() != 1 || spec.GetMetricSpecs()[0].GetMetricName() != "factories" {
		t.Fatalf("the specification is %v, %v", spec, err)
	}
	active, err := k.IsActive(t.Context(), gpu)
	if err != nil || active.GetResult() || value() != 0 {
		t.Errorf("without jobs it is active: %v, %v", active, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := k.StreamIsActive(ctx, gpu)
	if err != nil {
		t.Fatal(err)
	}
	next := func(want bool) {
		t.Helper()
		got, err := stream.Recv()
		if err != nil || got.GetResult() != want {
			t.Fatalf("the stream says %v, %v; want %t", got, err, want)
		}
	}
	next(false)
	for range 3 {
		w.Job("one", dispatchtest.Needs("has:gpu"))
	}
	next(true)
	if got := value(); got != 2 {
		t.Errorf("three jobs on two seats want %v factories", got)
	}
	specs, err := k.StreamMetricSpec(ctx, gpu)
	if err != nil {
		t.Fatal(err)
	}
	if streamed, err := specs.Recv(); err != nil || !proto.Equal(streamed, spec) {
		t.Errorf("the streamed specification is %v, %v; want %v", streamed, err, spec)
	}
	close(done)
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ends with %v", err)
	}
	if again, err := specs.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream of specifications says %v and ends with %v; want one, and Unavailable", again, err)
	}
}

func TestKEDANeedsATokenAndAPool(t *testing.T) {
	w := dispatchtest.New(t)
	k, _ := dial(t, w)
	for name, c := range map[string]struct {
		ref  *externalscaler.ScaledObjectRef
		want codes.Code
	}{
		"nothing":       {nil, codes.Unauthenticated},
		"no token":      {ref("pool", "gpu"), codes.Unauthenticated},
		"a wrong token": {ref("pool", "gpu", "token", "bad"), codes.Unauthenticated},
		"no pool":       {ref("token", "good"), codes.InvalidArgument},
		"another pool":  {ref("pool", "tpu", "token", "good"), codes.NotFound},
	} {
		_, err := k.IsActive(t.Context(), c.ref)
		if status.Code(err) != c.want {
			t.Errorf("%s: IsActive = %v, want %v", name, err, c.want)
		}
		_, err = k.GetMetricSpec(t.Context(), c.ref)
		if status.Code(err) != c.want {
			t.Errorf("%s: GetMetricSpec = %v, want %v", name, err, c.want)
		}
		_, err = k.GetMetrics(t.Context(), &externalscaler.GetMetricsRequest{ScaledObjectRef: c.ref})
		if status.Code(err) != c.want {
			t.Errorf("%s: GetMetrics = %v, want %v", name, err, c.want)
		}
		stream, err := k.StreamIsActive(t.Context(), c.ref)
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != c.want {
			t.Errorf("%s: StreamIsActive = %v, want %v", name, err, c.want)
		}
		specs, err := k.StreamMetricSpec(t.Context(), c.ref)
		if err == nil {
			_, err = specs.Recv()
		}
		if status.Code(err) != c.want {
			t.Errorf("%s: StreamMetricSpec = %v, want %v", name, err, c.want)
		}
	}
}
