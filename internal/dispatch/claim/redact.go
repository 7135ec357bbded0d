package claim

import (
	"cmp"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// claimWords are what a claim says for itself, as it is kept: without the secrets of
// jobs that its agent holds already. The digest is nil where the request id is as it
// was said.
type claimWords struct {
	session, request string
	digest           []byte
}

// requestDigests are by which a request is known again whose id held a secret, the one
// that is kept first.
func (c *claimItem) requestDigests(list *jobs.Service) [][]byte {
	return list.Secrets.Digests([]byte("claim " + c.Req.who.Agent.String() + " " + c.Req.in.RequestID))
}

// storedWords returns the words of the claims that get jobs, as they are stored. For agents without
// another lease no secrets are read.
func (b *claimBatch) storedWords() (map[*claimItem]claimWords, error) {
	said := map[*claimItem]claimWords{}
	var holders []ids.ID
	for _, c := range b.items {
		if len(c.taken) == 0 {
			continue
		}
		said[c] = claimWords{session: c.Req.in.SessionKey, request: c.Req.in.RequestID}
		if c.agent.Taken > 0 && cmp.Or(c.Req.in.SessionKey, c.Req.in.RequestID) != "" {
			holders = append(holders, c.agent.ID)
		}
	}
	if len(holders) == 0 {
		return said, nil
	}
	held, err := b.s.jobs.Secrets.HeldTx(b.ctx, b.tx, b.workspace, secrets.Holders{Agents: holders})
	if err != nil {
		return nil, err
	}
	for c, words := range said {
		held.Hide(c.agent.ID, &words.session, &words.request)
		words.session, words.request = redact.Cut(words.session, lease.MaxClaimWord), redact.Cut(words.request, lease.MaxClaimWord)
		if words.request != c.Req.in.RequestID {
			words.digest = c.requestDigests(b.s.jobs)[0]
		}
		said[c] = words
	}
	return said, nil
}

// brokenSecrets is the error of a job whose secrets were damaged where they are
// kept.
const brokenSecrets = "The job's secrets cannot be read: what is kept of them was changed or moved. Create the job again with its secrets."

// reveal adds the values of secrets to the jobs that the agent got. A job whose
// secrets are damaged fails instead.
func (b *claimBatch) reveal(given []jobs.Job) ([]jobs.Job, error) {
	given, broken, err := b.s.jobs.RevealTx(b.ctx, b.tx, b.workspace, given)
	if err != nil {
		return nil, err
	}
	for _, j := range broken {
		if err := b.failGiven(j, "secrets", brokenSecrets); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// failGiven ends a job for good that was just given, or again, and must not be: as the most
// urgent one of its lane it would keep all others from being given.
func (b *claimBatch) failGiven(j jobs.Job, loop, why string) error {
	job, err := jobs.LockTx(b.ctx, b.tx, b.workspace, j.ID.String())
	if err != nil {
		return err
	}
	d, err := job.Fail(false, jobs.FailedOther, why)
	if err != nil {
		return err
	}
	failed, err := lease.EndTx(b.ctx, b.tx, tenancy.System(b.workspace, loop), d, lease.AttemptEnd{Outcome: lease.Failed, Error: why,
		Kind: string(jobs.FailedOther)})
	if err != nil {
		return err
	}
	b.failedInstead = append(b.failedInstead, lease.Change{Before: job.Job, After: failed})
	return nil
}
