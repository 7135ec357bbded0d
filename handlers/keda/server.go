package keda

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fleetboard/fleetboard/handlers/keda/externalscaler"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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
)

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
	streams *semaphore.Weighted
}

// New returns a server of external scalers. Streams end when done is closed.
func New(list *pools.Service, tokens Bearers, done <-chan struct{}) *grpc.Server {
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxCalls), grpc.ConnectionTimeout(connectTimeout))
	externalscaler.RegisterExternalScalerServer(s, &scaler{pools: list, tokens: tokens, done: done,
		streams: semaphore.NewWeighted(maxStreams)})
	return s
}

// demand reads what the pool of a ScaledObject needs: its metadata names the pool, and has a token
// of the API, as token or, by the name that KEDA gives what it reads from the environment of the
// scaled workload, as tokenFromEnv.
func (s *scaler) demand(ctx context.Context, ref *externalscaler.ScaledObjectRef) (pools.Demand, error) {
	said := ref.GetScalerMetadata()
	token, pool := said["token"], said["pool"]
	if token == "" {
		token = said["tokenFromEnv"]
	}
	if token == "" {
		return pools.Demand{}, status.Error(codes.Unauthenticated, "The metadata needs a token of the API: token, or tokenFromEnv.")
	}
	if pool == "" {
		return pools.Demand{}, status.Error(codes.InvalidArgument, "The metadata must name the pool.")
	}
	who, err := s.tokens.Bearer(ctx, token)
	if err != nil {
		return pools.Demand{}, refusal(err)
	}
	d, err := s.pools.Demand(ctx, who, pool)
	if err != nil {
		return d, refusal(err)
	}
	return d, nil
}

// refusal returns an error as KEDA reads it. What is no refusal is not told.
func refusal(err error) error {
	f := fault.From(err)
	code := codes.Internal
	switch f.Code {
	case fault.Unauthenticated, fault.TokenInvalid, fault.TokenExpired, fault.TokenRevoked:
		code = codes.Unauthenticated
	case fault.Forbidden:
		code = codes.PermissionDenied
	case fault.NotFound:
		code = codes.NotFound
	case fault.TooMany:
		code = codes.ResourceExhausted
	case fault.Unavailable:
		code = codes.Unavailable
	}
	return status.Error(code, f.Message)
}

// IsActive reports whether the pool should have any factory.
func (s *scaler) IsActive(ctx context.Context, ref *externalscaler.ScaledObjectRef) (*externalscaler.IsActiveResponse, error) {
	d, err := s.demand(ctx, ref)
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
	if !s.streams.TryAcquire(1) {
		return status.Error(codes.ResourceExhausted, "There are too many streams.")
	}
	defer s.streams.Release(1)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		d, err := s.demand(ctx, ref)
		if err != nil {
			return err
		}
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
	}
}

// GetMetricSpec says that each factory that the pool should have is a replica.
func (s *scaler) GetMetricSpec(ctx context.Context, ref *externalscaler.ScaledObjectRef) (*externalscaler.GetMetricSpecResponse, error) {
	if _, err := s.demand(ctx, ref); err != nil {
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
	d, err := s.demand(ctx, r.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	return &externalscaler.GetMetricsResponse{MetricValues: []*externalscaler.MetricValue{
		{MetricName: metricName, MetricValue: int64(d.Value), MetricValueFloat: float64(d.Value)}}}, nil
}
