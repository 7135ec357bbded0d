package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// verifier is what events name as who has work verified.
	verifier = "verifying"
	// urgent is the least priority of a verify job: work that is done should not wait behind work
	// that begins.
	urgent = 7
	// maxShort bounds a title within a title, in characters.
	maxShort = 150
)

// handedIn is what the result of a job says of its commit.
type handedIn struct {
	Commit string `json:"commit"`
	Branch string `json:"branch"`
	Patch  string `json:"patch_blob"`
}

// errHasVerdict is work whose commit has its verdict: a person decides.
var errHasVerdict = errors.New("the commit has its verdict")

// followUp does what follows on work that was handed in, in the transaction that hands it in: it is verified,
// or approved within the limits of its product; a verdict counts.
func (b *finishBatch) followUp(after jobs.Job) ([]lease.Change, error) {
	var all []lease.Change
	for _, follow := range []func(jobs.Job) ([]lease.Change, error){b.verify, b.conclude, b.approveUnverified} {
		changes, err := follow(after)
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	return all, nil
}

// verify makes the jobs that verify what was handed in, in the transaction that hands it in. They are
// returned as changes from nothing.
func (b *finishBatch) verify(after jobs.Job) ([]lease.Change, error) {
	if !after.IsVerified() {
		return nil, nil
	}
	made, err := verifyTx(b.ctx, b.tx, b.s, tenancy.System(b.workspace, verifier), after)
	if errors.Is(err, errHasVerdict) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", after.Key, err)
	}
	return []lease.Change{{After: made}}, nil
}

// verifyTx makes the job that verifies what was handed in. It is of the product and the repo of the work
// and as urgent, at least as urgent as other work that ends something, and no author of the work may have it.
func verifyTx(ctx context.Context, tx db.Tx, s *Service, who tenancy.Principal, work jobs.Job) (jobs.Job, error) {
	var said handedIn
	if err := json.Unmarshal(work.Result, &said); err != nil {
		return jobs.Job{}, err
	}
	hasOne, err := q.JobVerdictOfCommit(ctx, tx, who.Workspace, work.ID, said.Commit)
	if err != nil {
		return jobs.Job{}, err
	}
	if hasOne {
		return jobs.Job{}, errHasVerdict
	}
	rule, err := jobs.VerifyPolicyTx(ctx, tx, who.Workspace, work.ProductID)
	if err != nil {
		return jobs.Job{}, err
	}
	authors, err := authorsTx(ctx, tx, who.Workspace, work)
	if err != nil {
		return jobs.Job{}, err
	}
	priority, review := max(work.Priority, urgent), false
	return s.jobs.CreateSystemTx(ctx, tx, who, jobs.System{
		New: jobs.New{Spec: jobs.Spec{Title: fmt.Sprintf("Verify %s: %s", work.Key, shorten(work.Title, maxShort-len(work.Key))),
			Repo: work.Repo, Phase: work.Phase, Capabilities: rule.Capabilities, ReviewOverride: &review},
			Kind: jobs.KindVerify, Product: work.Product, Priority: &priority},
		Away:   distinct.From(rule.Distinct, authors),
		Permit: func(context.Context, db.Tx) error { return nil },
		Record: func(ctx context.Context, tx db.Tx, made jobs.Job) error {
			if err := recordVerifyTx(ctx, tx, who.Workspace, made.ID, work, said, rule.Distinct); err != nil {
				return err
			}
			return nameDiffTx(ctx, tx, s.contents, who, made, said.Patch)
		},
	})
}

// nameDiffTx has a verify job name the patch of the work, so that whoever verifies may read it.
func nameDiffTx(ctx context.Context, tx db.Tx, contents Contents, who tenancy.Principal, made jobs.Job, name string) error {
	if name == "" || contents == nil {
		return nil
	}
	sum, err := blobs.ParseSum(name)
	if err != nil {
		return err
	}
	return contents.ReferTx(ctx, tx, who, sum, blobs.Ref{Job: made.ID})
}

// author returns whoever worked on a job as it is compared with verifiers. The provider of a model whose
// agent did not say it is guessed by its name, as it is where agents register.
func author(name, model, provider string) distinct.Agent {
	return distinct.Agent{Name: name, Model: model, Provider: cmp.Or(provider, fleet.GuessProvider(model))}
}

// shorten returns a text of at most n characters.
func shorten(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:n-1]) + "…"
}
