package worker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"fleetboard/internal/engines"
	"fleetboard/internal/redact"
	"fleetboard/internal/worker/breaker"
)

// errNoEngine is a job that asks for an engine that this worker does not have.
var errNoEngine = errors.New("this worker has no engine that the job asks for")

// hostsFault are the kinds of failures for which no job and no agent can do anything, but the
// engine, or who pays for it.
var hostsFault = []string{"auth", "billing", "engine_missing"}

// parts are what an attempt works with, and whether it is the one by which they are tried.
type parts struct {
	engine                 engines.Engine
	triesEngine, triesRepo bool
}

// choose takes the engine that a job asks for, or the first one, and its repository. The error
// says that the worker has none of those, or errWithdrawn that none works now.
func (w *Worker) choose(capabilities []string, repository string) (p parts, err error) {
	if p.engine, p.triesEngine, err = w.chooseEngine(capabilities); err != nil || repository == "" {
		return p, err
	}
	var ok bool
	if p.triesRepo, ok = w.breaker.Begin(repo(repository)); ok {
		return p, nil
	}
	if p.triesEngine {
		w.breaker.GiveUp(engine(p.engine.Name()))
	}
	return parts{}, errWithdrawn{repo(repository)}
}

func (w *Worker) chooseEngine(capabilities []string) (_ engines.Engine, trial bool, err error) {
	err = errNoEngine
	asked := slices.ContainsFunc(capabilities, func(c string) bool { return strings.HasPrefix(c, "engine:") })
	for _, e := range w.Engines {
		if !w.isUsable(e) || asked && !slices.Contains(capabilities, "engine:"+e.Name()) {
			continue
		}
		if trial, ok := w.breaker.Begin(engine(e.Name())); ok {
			return e, trial, nil
		}
		err = errWithdrawn{engine(e.Name())}
	}
	return nil, false, err
}

// judge says what the attempt has shown of what it works with, once it has ended.
func (a *attempt) judge(ctx context.Context, end ending) {
	if a.engine != nil {
		a.judgeEngine(end)
	}
	if a.triesRepo { // it is still to be decided
		a.w.breaker.GiveUp(repo(a.job.Repo))
	}
	// What is withdrawn is given to nobody once the report has given the job back.
	if err := a.w.tellOffer(ctx); err != nil {
		a.w.Log.Warn("what is offered could not be told: " + err.Error())
	}
}

func (a *attempt) judgeEngine(end ending) {
	at, kind := engine(a.engine.Name()), said(end.failure.Kind)
	switch {
	case end.verb == verbFail && slices.Contains(hostsFault, kind):
		a.w.withdraw(at, a.reason(end.failure.Error), a.triesEngine)
	case end.verb == verbComplete, end.verb == verbAsk:
		a.engineWorks()
	case a.triesEngine:
		a.w.breaker.GiveUp(at)
	}
}

// engineWorks says that the engine has reached its model.
func (a *attempt) engineWorks() {
	if a.triesEngine {
		a.triesEngine = false
		a.works(engine(a.engine.Name()))
	}
}

// repoOpened says what came of the try to begin in the job's repository.
func (a *attempt) repoOpened(ctx context.Context, err error) {
	at := repo(a.job.Repo)
	switch {
	case err == nil && a.triesRepo:
		a.works(at)
	case err != nil && ctx.Err() == nil:
		a.w.withdraw(at, a.reason(err.Error()), a.triesRepo)
	default:
		return
	}
	a.triesRepo = false
}

// works says that a part works again, and has the server and who claims hear of it.
func (a *attempt) works(p breaker.Part) {
	version := a.w.breaker.Version()
	a.w.breaker.Worked(p)
	if a.w.breaker.Version() != version {
		a.w.Log.Info("it works again", p.Kind, p.Name)
		a.w.beatNow.Set()
		a.w.freed.Set()
	}
}

// reason is a line about a failure that everybody may read.
func (a *attempt) reason(failure string) string {
	return redact.Cut(plainLine(a.told.secret.Text(failure)), maxReason)
}
