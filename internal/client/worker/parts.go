package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/worker/breaker"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// errNoEngine is a job that needs an engine that this worker does not have.
var errNoEngine = errors.New("this worker has no engine that the job asks for")

// withdrawnError is a part that a job needs and that is not offered now.
type withdrawnError struct{ part breaker.Part }

func (e withdrawnError) Error() string {
	return fmt.Sprintf("The %s %s does not work here now, or is being tried with another job.", e.part.Kind, e.part.Name)
}

// hostsFault are the kinds of failures for which no job and no agent can do anything, but the
// engine, or who pays for it.
var hostsFault = []string{"auth", "billing", "engine_missing"}

// parts are the engine and the repository that an attempt works with, and whether it is the
// one by which they are tried.
type parts struct {
	offer                  *offer
	engine                 engines.Engine // nil for none
	repo                   string
	triesEngine, triesRepo bool
	// hide takes the secrets of the job out of a text.
	hide func(string) string
}

// choose takes the engine that a job names, or the first one, and its repository. The error
// says that the worker has none of those, or withdrawnError that none works now.
func (o *offer) choose(capabilities []string, repository string) (*parts, error) {
	p := &parts{offer: o, repo: repository}
	e, trial, err := o.chooseEngine(capabilities)
	if err != nil {
		return p, err
	}
	if repository != "" {
		var ok bool
		if p.triesRepo, ok = o.Begin(repo(repository)); !ok {
			if trial {
				o.GiveUp(engine(e.Name()))
			}
			return p, withdrawnError{repo(repository)}
		}
	}
	p.engine, p.triesEngine = e, trial
	return p, nil
}

func (o *offer) chooseEngine(capabilities []string) (_ engines.Engine, trial bool, err error) {
	err = errNoEngine
	asked := slices.ContainsFunc(capabilities, func(c string) bool { return strings.HasPrefix(c, "engine:") })
	for _, e := range o.Engines {
		if !o.hasRun(e) || asked && !slices.Contains(capabilities, "engine:"+e.Name()) {
			continue
		}
		if trial, ok := o.Begin(engine(e.Name())); ok {
			return e, trial, nil
		}
		err = withdrawnError{engine(e.Name())}
	}
	return nil, false, err
}

// judge says what the attempt has shown of the parts, once it has ended.
func (p *parts) judge(end ending) {
	if p.engine != nil {
		p.judgeEngine(end)
	}
	if p.triesRepo { // it did not get as far
		p.offer.GiveUp(repo(p.repo))
	}
}

func (p *parts) judgeEngine(end ending) {
	at := engine(p.engine.Name())
	switch body := end.body.(type) {
	case *api.Completion, *api.Question:
		p.restoreEngine()
		return
	case *api.Failure:
		if slices.Contains(hostsFault, said(body.Kind)) {
			p.offer.withdraw(at, p.explain(body.Error), p.triesEngine)
			return
		}
	}
	if p.triesEngine {
		p.offer.GiveUp(at)
	}
}

// restoreEngine says that the engine has reached its model.
func (p *parts) restoreEngine() {
	if p.triesEngine {
		p.triesEngine = false
		p.offer.restore(engine(p.engine.Name()))
	}
}

// judgeRepo says what came of the try to begin in the job's repository.
func (p *parts) judgeRepo(ctx context.Context, err error) {
	at := repo(p.repo)
	switch {
	case err == nil && p.triesRepo:
		p.offer.restore(at)
	case err != nil && ctx.Err() == nil:
		p.offer.withdraw(at, p.explain(err.Error()), p.triesRepo)
	default:
		return
	}
	p.triesRepo = false
}

// explain returns a line about a failure that everybody may read.
func (p *parts) explain(failure string) string {
	return redact.Cut(plainLine(p.hide(failure)), api.MaxUnavailableReason)
}
