package keda

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// guard stands around each call: it turns errors into what KEDA reads, logs those that are the
// server's own, once, and takes a panic for one.
type guard struct{ log *slog.Logger }

func (g guard) call(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	err = g.run(ctx, info.FullMethod, func() (err error) {
		answer, err = next(ctx, in)
		return err
	})
	return answer, err
}

func (g guard) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return g.run(stream.Context(), info.FullMethod, func() error { return next(server, stream) })
}

func (g guard) run(ctx context.Context, method string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if _, said := status.FromError(err); said {
			return
		}
		if ctx.Err() != nil { // nobody waits for the answer
			err = status.FromContextError(ctx.Err()).Err()
			return
		}
		cause := err
		if err = refusal(cause); status.Code(err) == codes.Internal || status.Code(err) == codes.Unavailable {
			g.log.ErrorContext(ctx, "KEDA's call failed", "method", method, "error", cause)
		}
	}()
	return do()
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
