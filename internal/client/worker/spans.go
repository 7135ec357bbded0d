package worker

import (
	"context"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// invoke runs the engine as a part of the attempt's trace. The program's environment names its place there.
func (a *attempt) invoke(ctx context.Context, task engines.Task, tell func(engines.Event)) (engines.Result, error) {
	if !tracing.On() {
		return a.engine.Run(ctx, task, tell)
	}
	ctx, span := tracing.Agent(ctx, a.engine.Name(), task.Model)
	task.Env = append(task.Env, tracing.Environ(ctx)...)
	used := map[string]transcript.Entry{}
	result, err := a.engine.Run(ctx, task, func(e engines.Event) {
		for _, entry := range e.Usage {
			used[entry.ID] = entry // as it has grown
		}
		tell(e)
	})
	for _, entry := range used {
		span.Use(entry.Provider, entry.Model, entry.Input+entry.CacheRead+entry.CacheWrite+entry.CacheWrite1h, entry.Output)
	}
	span.End(runKind(result, err))
	return result, err
}

// runKind returns of which kind a run failed, "" where it went well.
func runKind(result engines.Result, err error) string {
	switch {
	case err != nil:
		return "engine_missing"
	case result.Failure != nil:
		return result.Failure.Kind
	}
	return ""
}

// kind returns of which kind an attempt failed, "" where it did not.
func (e ending) kind() string {
	if failed, ok := e.body.(*api.Failure); ok {
		return said(failed.Kind)
	}
	return ""
}

// trace runs a part of the work under its name; kind is that of its failure.
func trace(ctx context.Context, name, kind string, do func(context.Context) error) error {
	ctx, span := tracing.Begin(ctx, name)
	err := do(ctx)
	if err == nil {
		kind = ""
	}
	span.End(kind)
	return err
}
