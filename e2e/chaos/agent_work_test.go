package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/callertest"
)

// plan is what a job says is to become of it.
type plan string

const (
	planFinish plan = "finish" // it ends completed, whatever happens on the way
	planDoomed plan = "doomed" // every attempt fails for good
	planAsk    plan = "ask"    // it needs an answer first
)

// brief is a job's input context.
type brief struct {
	Plan plan `json:"plan"`
}

// Of a hundred attempts that would go well so many fail, and are given back.
const (
	failsOf100    = 6
	releasesOf100 = 4
)

// do works on a job. Every second time it ignores what the server answers
// about the lease, and finds out by being refused.
func (a *agent) do(ctx context.Context, job api.Job) {
	l := lease{job.Key, job.Lease.Epoch}
	a.hold(l)
	defer a.drop(l)
	if a.Gate != "" {
		for {
			if _, err := os.Stat(a.Gate); err == nil {
				break
			}
			_ = callertest.Rest(ctx, 20*time.Millisecond)
		}
		a.complete(ctx, l, "complete", job.Title)
		return
	}
	deaf := rand.IntN(2) == 0
	steps := 1 + rand.IntN(4)
	for step := range steps {
		_ = callertest.Rest(ctx, 100*time.Millisecond+rand.N(600*time.Millisecond))
		if !deaf && a.obey(ctx, l) {
			return
		}
		if !a.progress(ctx, l, 100*(step+1)/(steps+1)) && !deaf {
			return
		}
	}
	a.finish(ctx, l, job)
}

// obey does what the last heartbeat directed. It reports whether the work is over.
func (a *agent) obey(ctx context.Context, l lease) bool {
	switch a.directive(l) {
	case api.DirectiveFenced:
		return true
	case api.DirectivePause, api.DirectiveCancel:
		a.release(ctx, l, "as asked")
		return true
	}
	return false
}

// finish ends the lease in one of the ways there are.
func (a *agent) finish(ctx context.Context, l lease, job api.Job) {
	var b brief
	_ = json.Unmarshal(job.InputContext, &b)
	chance := rand.IntN(100)
	switch {
	case b.Plan == planDoomed:
		a.fail(ctx, l, false)
	case b.Plan == planAsk && job.Answer == "":
		a.ask(ctx, l)
	case chance < failsOf100:
		a.fail(ctx, l, true)
	case chance < failsOf100+releasesOf100:
		a.release(ctx, l, "somebody else may have it")
	default:
		a.handIn(ctx, l, job.Title)
	}
}

// handIn completes, and sometimes says it again, in the same words or others.
func (a *agent) handIn(ctx context.Context, l lease, title string) {
	if !a.complete(ctx, l, "complete", title) {
		return
	}
	switch rand.IntN(10) {
	case 0:
		a.complete(ctx, l, "complete again", title)
	case 1:
		a.complete(ctx, l, "complete otherwise", title+" in other words")
	}
}

// complete repeats the same completion until it is answered. It reports whether
// it was accepted.
func (a *agent) complete(ctx context.Context, l lease, verb, summary string) bool {
	body := api.Completion{Job: l.job, Epoch: l.epoch, Summary: &summary}
	if verb == "complete" {
		body.Next = a.next()
	}
	answer, err := callertest.Insist(ctx, a.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CompleteJobResponse, error) {
		return c.CompleteJobWithResponse(ctx, body)
	})
	if err != nil {
		return false
	}
	a.receive(answer.JSON200)
	return a.answered(verb, l, answer)
}

func (a *agent) progress(ctx context.Context, l lease, percent int) bool {
	body := api.ProgressReport{Job: l.job, Epoch: l.epoch, ProgressPercent: &percent, CurrentStep: new(fmt.Sprint("step at ", percent)),
		Checkpoint: json.RawMessage(fmt.Sprintf(`{"percent": %d, "epoch": %d}`, percent, l.epoch))}
	answer, err := callertest.Insist(ctx, a.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.ReportProgressResponse, error) {
		return c.ReportProgressWithResponse(ctx, body)
	})
	return err == nil && a.answered("progress", l, answer)
}

func (a *agent) fail(ctx context.Context, l lease, retryable bool) {
	body := api.Failure{Job: l.job, Epoch: l.epoch, Error: "the tests do not pass", Retryable: &retryable, Next: a.next()}
	answer, err := callertest.Insist(ctx, a.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.FailJobResponse, error) {
		return c.FailJobWithResponse(ctx, body)
	})
	if err == nil {
		a.receive(answer.JSON200)
		a.answered("fail", l, answer)
	}
}

func (a *agent) release(ctx context.Context, l lease, reason string) {
	body := api.LeaseRelease{Job: l.job, Epoch: l.epoch, Reason: reason, Next: a.next()}
	answer, err := callertest.Insist(ctx, a.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.ReleaseLeaseResponse, error) {
		return c.ReleaseLeaseWithResponse(ctx, body)
	})
	if err == nil {
		a.receive(answer.JSON200)
		a.answered("release", l, answer)
	}
}

func (a *agent) ask(ctx context.Context, l lease) {
	body := api.Question{Job: l.job, Epoch: l.epoch, Question: "Which of the two?", Next: a.next()}
	answer, err := callertest.Insist(ctx, a.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.AskQuestionResponse, error) {
		return c.AskQuestionWithResponse(ctx, body)
	})
	if err == nil {
		a.receive(answer.JSON200)
		a.answered("ask", l, answer)
	}
}

// answered writes an answer down and reports whether it was accepted.
func (a *agent) answered(verb string, l lease, r callertest.Reply) bool {
	a.note(line{Verb: verb, Job: l.job, Epoch: l.epoch, Status: r.StatusCode(), Code: callertest.Code(r)})
	return r.StatusCode() == http.StatusOK
}
