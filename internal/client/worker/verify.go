package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/process"
	"github.com/fleetboard/fleetboard/internal/client/mcptools"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/client/worker/verification"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// commitPatience is how long a verification waits for its commit, which its author's factory pushes after
// it has handed the work in.
const commitPatience = 30 * time.Second

// verifying is an attempt that verifies work.
type verifying struct {
	*attempt
	*verification.Verification

	tree *repos.CheckedOut
}

// isVerification reports whether a job came with the order to verify work.
func isVerification(j api.Job) bool {
	return j.Kind == "verify" && j.Order != nil && j.Order.Verify != nil
}

// newVerifying makes an attempt one that verifies what is ordered.
func newVerifying(a *attempt, order api.VerifyOrder) *verifying {
	a.verifies = &verifying{attempt: a, Verification: &verification.Verification{Order: order}}
	return a.verifies
}

// run has the engine judge exactly the commit of the order, in a checkout of which nothing is kept.
func (a *verifying) run(ctx context.Context) ending {
	if a.w.Program == "" {
		return failure("engine_missing", "This worker gives its engine no tools, so that it could give no verdict.", false)
	}
	if reason, ok := a.mayBegin(ctx); !ok {
		return release(reason)
	}
	defer a.w.limitTime(a.lease)()
	a.reporter.step("checks out " + a.Order.Commit + " of " + a.Order.Job)
	err := trace(ctx, "clone", "clone_failed", a.checkOut)
	if errors.Is(err, repos.ErrNoCommit) {
		a.judgeRepo(ctx, nil)
		return a.stoppedOr(failure("other", fmt.Sprintf("%s of %s cannot be verified: %v", a.Order.Commit, a.Order.Job, err), true))
	}
	if a.judgeRepo(ctx, err); err != nil {
		return a.stoppedOr(failure(failureKind(err), err.Error(), true))
	}
	defer a.leaveCheckout()
	if err := a.runChecks(ctx); err != nil {
		return a.stoppedOr(failure("other", "The commit could not be made ready to be verified: "+err.Error(), true))
	}
	result, err := a.runVerifier(ctx)
	if err != nil {
		return a.stoppedOr(failure("engine_missing", err.Error(), true))
	}
	if end, stopped := a.stopped(); stopped {
		return end
	}
	if !result.OK {
		return failed(result)
	}
	return a.handInVerdict(result)
}

// checkOut checks the commit out. What its author's factory is about to push is waited for.
func (a *verifying) checkOut(ctx context.Context) (err error) {
	until := time.Now().Add(commitPatience)
	request := repos.CheckOutRequest{Repo: a.job.Repo, Commit: a.Order.Commit, Branch: a.Order.Branch, Into: said(a.Order.Into)}
	for pause := time.Second; ; pause *= 2 {
		a.tree, err = a.w.Repos.CheckOut(ctx, request)
		if err == nil {
			a.Commit, a.Base = a.tree.Commit, a.tree.Base
		}
		if !errors.Is(err, repos.ErrNoCommit) || time.Now().Add(pause).After(until) {
			return err
		}
		a.reporter.step("waits for " + a.Order.Commit)
		if stopped := signal.Sleep(ctx, pause); stopped != nil {
			return stopped
		}
	}
}

// leaveCheckout throws away what is in the checkout, once nothing works there any more.
func (a *verifying) leaveCheckout() {
	process.KillMarked(a.attemptMarker())
	a.tree.Close()
}

// runChecks runs the checks of the product and those of the worker. They may have changed the checkout, so
// the engine gets it as it was, but for what the commit would tell its program. The error says that it does not.
func (a *verifying) runChecks(ctx context.Context) error {
	for _, command := range listChecks(said(a.Order.Checks), a.w.Check) {
		a.reporter.step("checks: " + command)
		c := verification.Check{Command: command}
		_ = trace(ctx, "check", "checks_failed", func(ctx context.Context) error { // it is told as what it is
			c.Printed, c.Err = a.check(ctx, command, a.tree.Dir)
			return c.Err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.Checks = append(a.Checks, c)
	}
	if len(a.Checks) > 0 {
		process.KillMarked(a.attemptMarker()) // what they left running
		if err := a.tree.Renew(ctx); err != nil {
			return err
		}
	}
	var err error
	if a.Diff, err = a.tree.Diff(ctx); err == nil {
		a.Held, err = a.tree.HoldBack(ctx, verification.Instructs)
	}
	return err
}

// listChecks returns the checks that there are, each once.
func listChecks(commands ...string) []string {
	return slices.Compact(slices.DeleteFunc(commands, func(c string) bool { return strings.TrimSpace(c) == "" }))
}

// runVerifier runs the engine in a session of its own. One that ends its turn without a verdict is reminded
// once, where its session can go on.
func (a *verifying) runVerifier(ctx context.Context) (engines.Result, error) {
	a.model = a.w.chooseModel(a.engine.Name(), a.job)
	a.tellModel(ctx)
	socket, closeTools, err := a.serveTools(ctx)
	if err != nil {
		return engines.Result{}, err
	}
	defer closeTools()
	a.reporter.step("verifies " + a.Order.Job)
	turns := turns{a.attempt, socket}
	task, err := turns.task("", a.Prompt(random()[:8]))
	if err != nil {
		return engines.Result{}, err
	}
	result, err := a.invoke(ctx, task, a.handleEvent)
	session, _ := a.state()
	if a.IsGiven() || err != nil || !result.OK || session == "" || ctx.Err() != nil {
		return result, err
	}
	a.reporter.step("is reminded to give a verdict")
	if task, err = turns.task(session, verification.Reminder); err != nil {
		return engines.Result{}, err
	}
	task.Later = true
	return a.invoke(ctx, task, a.handleEvent)
}

// handInVerdict completes the job with what the engine said last.
func (a *verifying) handInVerdict(r engines.Result) ending {
	given, ok := a.Verdict(a.reporter.secret.Cut)
	if !ok {
		return failure("engine_garbage", "The agent program ended its turn without a verdict: it did not call give_verdict with one "+
			"that has the right form.", true)
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return failure("other", err.Error(), false) // texts and numbers only
	}
	work := &api.Completion{Result: raw,
		Summary: text(a.reporter.secret.Cut(strings.TrimSpace(plainText(r.Summary)), api.MaxCompletionSummary))}
	return ending{said: "verified: " + given.Verdict, body: work}
}

// GiveVerdict takes what the engine says, for mcptools.Verifier. The error says what is wrong with it.
func (a *verifying) GiveVerdict(_ context.Context, raw json.RawMessage) error {
	if err := a.Take(raw, a.reporter.secret.Cut); err != nil {
		a.reporter.log("WARNING", "verdict", err.Error()) // not every program shows what its tools answer
		return err
	}
	a.reporter.step("has a verdict")
	return nil
}

// Progress says what the engine does, for mcptools.Verifier.
func (a *verifying) Progress(ctx context.Context, p mcptools.Progress) error {
	return tools{a.attempt}.Progress(ctx, p)
}
