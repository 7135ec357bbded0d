package keda

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/fleetboard/fleetboard/handlers/keda/externalscaler"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

const (
	// metricName is what the one metric of a pool is called.
	metricName = "factories"
	// lookEvery is how often a stream looks whether its pool has become active.
	lookEvery = time.Second
	// maxStreams bounds the streams of all callers together, maxCalls those of one connection.
	maxStreams, maxCalls = 200, 100
	maxRequest           = 64 << 10 // bytes
	connectTimeout       = 10 * time.Second
	// lookTimeout bounds a look at the demand of a pool.
	lookTimeout = 10 * time.Second
	// silence is after how long a peer that says nothing is asked whether it is still there.
	silence = 30 * time.Second
)

// streamShares leave room for other workspaces.
var streamShares = quota.Shares{Asker: maxStreams / 4, Enrolment: maxStreams / 4, Workspace: maxStreams / 4}

// Bearers says whom a bearer token stands for.
type Bearers interface {
	Bearer(ctx context.Context, token string) (tenancy.Principal, error)
}

// scaler answers KEDA's calls.
type scaler struct {
	externalscaler.UnsafeExternalScalerServer // a call that KEDA adds is a compile error here

	pools   *pools.Service
	tokens  Bearers
	done    <-chan struct{}
	all     *semaphore.Weighted // streams
	streams *quota.Seats
}

// New returns a server of external scalers. Streams end when done is closed. What fails that is no
// refusal is logged.
func New(list *pools.Service, tokens Bearers, done <-chan struct{}, log *slog.Logger) *grpc.Server {
	g := guard{log}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxCalls), grpc.ConnectionTimeout(connectTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: silence, Timeout: connectTimeout}),
		grpc.UnaryInterceptor(g.call), grpc.StreamInterceptor(g.stream))
	externalscaler.RegisterExternalScalerServer(s, &scaler{pools: list, tokens: tokens, done: done,
		all: semaphore.NewWeighted(maxStreams), streams: quota.NewSeats()})
	return s
}

// demand reads what the pool of a ScaledObject needs, and for whom: its metadata names the pool, and has
// a token of the API, as token or, by the name that KEDA gives what it reads from the environment of the
// scaled workload, as tokenFromEnv.
func (s *scaler) demand(ctx context.Context, ref *externalscaler.ScaledObjectRef) (d pools.Demand, who tenancy.Principal, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	said := ref.GetScalerMetadata()
	token, pool := said["token"], said["pool"]
	if token == "" {
		token = said["tokenFromEnv"]
	}
	if token == "" {
		return d, who, status.Error(codes.Unauthenticated, "The metadata needs a token of the API: token, or tokenFromEnv.")
	}
	if pool == "" {
		return d, who, status.Error(codes.InvalidArgument, "The metadata must name the pool.")
	}
	if who, err = s.tokens.Bearer(ctx, token); err != nil {
		return d, who, err
	}
	d, err = s.pools.Demand(ctx, who, pool)
	return d, who, err
}

// IsActive reports whether the pool should have any factory.
func (s *scaler) IsActive(ctx context.Context, ref *externalscaler.ScaledObjectRef) (*externalscaler.IsActiveResponse, error) {
	d, _, err := s.demand(ctx, ref)
	return &externalscaler.IsActiveResponse{Result: d.Value > 0}, err
}

// StreamIsActive says whether the pool should have any factory, at once and whenever that changes.
func (s *scaler) StreamIsActive(
	ref *externalscaler.ScaledObjectRef, stream grpc.ServerStreamingServer[externalscaler.IsActiveResponse],
) error {
	said, first := false, true
	return s.watch(stream.Context(), ref, func(d pools.Demand) error {
		active := d.Value > 0
		if !first && active == said {
			return nil
		}
		said, first = active, false
		return stream.Send(&externalscaler.IsActiveResponse{Result: active})
	})
}

// StreamMetricSpec says what GetMetricSpec does, once: it never changes.
func (s *scaler) StreamMetricSpec(
	ref *externalscaler.ScaledObjectRef, stream grpc.ServerStreamingServer[externalscaler.GetMetricSpecResponse],
) error {
	said := false
	return s.watch(stream.Context(), ref, func(pools.Demand) error {
		if said {
			return nil
		}
		said = true
		return stream.Send(metricSpec())
	})
}

// watch reads the demand of a pool at once and every lookEvery, and shows it, until the caller or
// the server ends, or the caller's token does.
func (s *scaler) watch(ctx context.Context, ref *externalscaler.ScaledObjectRef, show func(pools.Demand) error) error {
	if !s.all.TryAcquire(1) {
		return status.Error(codes.ResourceExhausted, "There are too many streams.")
	}
	defer s.all.Release(1)
	d, who, err := s.demand(ctx, ref)
	if err != nil {
		return err
	}
	leave, full := s.streams.Enter(quota.Askers(who, streamShares)...)
	if full != nil {
		return status.Errorf(codes.ResourceExhausted, "This %s has %d streams, as many as it may.", full.What, full.Most)
	}
	defer leave()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := show(d); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return status.Error(codes.Unavailable, "The server stops.")
		case <-tick.C:
		}
		if d, _, err = s.demand(ctx, ref); err != nil {
			return err
		}
	}
}

// GetMetricSpec says that each factory that the pool should have is a replica.
func (s *scaler) GetMetricSpec(ctx context.Context, ref *externalscaler.ScaledObjectRef) (*externalscaler.GetMetricSpecResponse, error) {
	if _, _, err := s.demand(ctx, ref); err != nil {
		return nil, err
	}
	return metricSpec(), nil
}

func metricSpec() *externalscaler.GetMetricSpecResponse {
	return &externalscaler.GetMetricSpecResponse{MetricSpecs: []*externalscaler.MetricSpec{
		{MetricName: metricName, TargetSize: 1, TargetSizeFloat: 1}}}
}

// GetMetrics says how many factories the pool should have.
func (s *scaler) GetMetrics(ctx context.Context, r *externalscaler.GetMetricsRequest) (*externalscaler.GetMetricsResponse, error) {
	d, _, err := s.demand(ctx, r.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	return &externalscaler.GetMetricsResponse{MetricValues: []*externalscaler.MetricValue{
		{MetricName: metricName, MetricValue: int64(d.Value), MetricValueFloat: float64(d.Value)}}}, nil
}
