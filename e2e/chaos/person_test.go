package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/callertest"
)

// person submits jobs and tends them, through any of the servers.
type person struct {
	net *callertest.Network

	mu    sync.Mutex
	jobs  []submitted
	lines []line
}

// submitted is a job whose creation was answered.
type submitted struct {
	key, title string
	plan       plan
	// spare jobs may be cancelled: nothing depends on them.
	spare bool
}

// narrow is a product that allows one job per repo at a time and few in review;
// all agents have its repos.
const narrow = "narrow"

var repos = []api.Repo{{Name: "narrow-ledger"}, {Name: "narrow-website"}}

// found makes the product.
func (p *person) found(ctx context.Context) error {
	names := []string{repos[0].Name, repos[1].Name}
	answer, err := callertest.Insist(ctx, p.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.PutProductResponse, error) {
		return c.PutProductWithResponse(ctx, narrow, api.ProductSettings{OneJobPerRepo: new(true), ReviewLimit: new(2), Repos: &names})
	})
	if err == nil && answer.StatusCode() >= http.StatusMultipleChoices {
		err = fmt.Errorf("put product: %d %s", answer.StatusCode(), answer.Body)
	}
	return err
}

// recently is how many of the last jobs a dependency or a whim looks at.
const recently = 30

func (p *person) note(l line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.At, l.Who = time.Now(), "person"
	p.lines = append(p.lines, l)
}

// latest returns the last few jobs that pass.
func (p *person) latest(pass func(submitted) bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []string
	for _, s := range slices.Backward(p.jobs) {
		if len(keys) == recently {
			break
		}
		if pass(s) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// submit creates one job, and insists until the answer says which.
func (p *person) submit(ctx context.Context, n int64) {
	s := submitted{title: fmt.Sprint("chaos ", n), plan: planFinish, spare: rand.IntN(4) == 0}
	job := api.NewJob{Title: s.title, Priority: new(rand.IntN(11)), MaxRetries: new(100), MaxLost: new(100),
		RetryBackoffSeconds: new(rand.IntN(3))}
	if solid := p.latest(func(s submitted) bool { return !s.spare }); len(solid) > 0 && rand.IntN(4) == 0 {
		job.DependsOn = &[]string{solid[rand.IntN(len(solid))]}
	}
	if rand.IntN(10) == 0 {
		job.Product, job.Repo = new(narrow), &repos[rand.IntN(len(repos))].Name
	}
	switch chance := rand.IntN(100); {
	case chance < 5:
		s.plan, s.spare = planDoomed, true
	case chance < 15:
		s.plan = planAsk
	case chance < 30:
		job.ReviewRequired = new(true)
	case chance < 35:
		job.NotBefore = new(time.Now().Add(3 * time.Second))
	}
	job.InputContext, _ = json.Marshal(brief{s.plan})
	params := &api.CreateJobParams{IdempotencyKey: new(fmt.Sprintf("%s %x", s.title, rand.Uint64()))}
	answer, err := callertest.Insist(ctx, p.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CreateJobResponse, error) {
		return c.CreateJobWithResponse(ctx, params, job)
	})
	if err != nil {
		return
	}
	created := answer.JSON201
	if created == nil {
		created = answer.JSON200
	}
	l := line{Verb: "create", Status: answer.StatusCode(), Code: callertest.Code(answer), Note: s.title}
	if created != nil {
		l.Job, s.key = created.Key, created.Key
		p.mu.Lock()
		p.jobs = append(p.jobs, s)
		p.mu.Unlock()
	}
	p.note(l)
}

// tend does for the jobs that wait for a person what they wait for.
func (p *person) tend(ctx context.Context) {
	list, err := callertest.Insist(ctx, p.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.ListJobsResponse, error) {
		return c.ListJobsWithResponse(ctx, &api.ListJobsParams{Limit: new(200), Status: &[]api.JobStatus{
			api.JobStatusInReview, api.JobStatusApproved, api.JobStatusBlocked, api.JobStatusPaused}})
	})
	if err != nil || list.JSON200 == nil {
		return
	}
	for _, job := range list.JSON200.Items {
		rare := rand.IntN(6) == 0
		switch job.Status {
		case api.JobStatusInReview:
			p.act(ctx, either(rare, "reject", "approve"), job.Key)
		case api.JobStatusApproved:
			p.act(ctx, either(rare, "merge fail", "merge"), job.Key)
		case api.JobStatusBlocked:
			p.act(ctx, either(job.Question != "" && job.Answer == "", "answer", "unblock"), job.Key)
		case api.JobStatusPaused:
			p.act(ctx, "resume", job.Key)
		}
	}
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// meddle does something to one of the latest jobs, whatever its state.
func (p *person) meddle(ctx context.Context) {
	verb := []string{"pause", "pause", "block", "release", "cancel"}[rand.IntN(5)]
	keys := p.latest(func(s submitted) bool { return verb != "cancel" || s.spare })
	if len(keys) == 0 {
		return
	}
	key := keys[rand.IntN(len(keys))]
	if p.act(ctx, verb, key) && verb == "cancel" && rand.IntN(3) == 0 {
		// A second life; refused where an agent only got the directive to stop.
		p.act(ctx, "retry", key)
	}
}

// acts are a person's verbs. Repeating one whose outcome is unknown may be
// refused because it was done; that is an answer too.
var acts = map[string]func(context.Context, *api.ClientWithResponses, string) (callertest.Reply, error){
	"pause": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.PauseJobWithResponse(ctx, key, api.PlainAction{}))
	},
	"resume": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.ResumeJobWithResponse(ctx, key, api.PlainAction{}))
	},
	"block": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.BlockJobWithResponse(ctx, key, api.ReasonedAction{Reason: "one moment"}))
	},
	"unblock": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.UnblockJobWithResponse(ctx, key, api.PlainAction{}))
	},
	"release": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.ReleaseJobWithResponse(ctx, key, api.ReasonedAction{Reason: "give it to another"}))
	},
	"cancel": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.CancelJobWithResponse(ctx, key, api.ReasonedAction{Reason: "not wanted any more"}))
	},
	"retry": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.RetryJobWithResponse(ctx, key, api.RetryAction{}))
	},
	"approve": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.ApproveJobWithResponse(ctx, key, api.ApproveAction{}))
	},
	"reject": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.RejectJobWithResponse(ctx, key, api.ReasonedAction{Reason: "the tests are missing"}))
	},
	"merge": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.MergeJobWithResponse(ctx, key, api.MergeAction{}))
	},
	"merge fail": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.FailMergeWithResponse(ctx, key, api.ReasonedAction{Reason: "there is a conflict"}))
	},
	"answer": func(ctx context.Context, c *api.ClientWithResponses, key string) (callertest.Reply, error) {
		return some(c.AnswerJobWithResponse(ctx, key, api.AnswerAction{Answer: "The first."}))
	},
}

// some makes a reply of an answer; a nil one stays nil.
func some[R callertest.Reply](answer R, err error) (callertest.Reply, error) {
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// act does one of acts and reports whether it was accepted.
func (p *person) act(ctx context.Context, verb, key string) bool {
	answer, err := callertest.Insist(ctx, p.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (callertest.Reply, error) {
		return acts[verb](ctx, c, key)
	})
	if err != nil {
		return false
	}
	p.note(line{Verb: verb, Job: key, Status: answer.StatusCode(), Code: callertest.Code(answer)})
	return answer.StatusCode() == http.StatusOK
}
