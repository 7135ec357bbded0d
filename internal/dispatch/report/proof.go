package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The members of a result that have the proofs, and what kept some from being made.
const (
	proofsOf   = "proofs"
	proofError = "proof_error"
)

func checkProofs(p fault.Problems, list []evidence.Proof) {
	if len(list) > evidence.MaxProofs {
		p.Add(proofsOf, "It must have at most %d proofs.", evidence.MaxProofs)
	}
	for i, proof := range list {
		p.Line(proofField(i, "title"), proof.Title, evidence.MaxProofTitle)
		if _, err := blobs.ParseSum(proof.Blob); err != nil {
			p.Add(proofField(i, "blob"), notASum)
		}
	}
}

func proofField(i int, name string) string { return fmt.Sprintf("%s[%d].%s", proofsOf, i, name) }

// refuseProofs refuses proofs of another commit than the one that is handed in, and those of criteria that the
// job does not have.
func refuseProofs(job jobs.Job, c Completion) error {
	p := fault.Problems{}
	for i, proof := range c.Proofs {
		switch {
		case c.Commit == "":
			p.Add(proofField(i, "commit"), "It must be the commit that is handed in, and none is.")
		case proof.Commit != c.Commit:
			p.Add(proofField(i, "commit"), "It must be the commit that is handed in, %s.", c.Commit)
		}
		if !slices.Contains(job.Acceptance, proof.Criterion) {
			p.Add(proofField(i, "criterion"), "It must be one of the job's acceptance criteria, word by word.")
		}
	}
	return refuseAsProofs(p)
}

// writeProofs writes proofs into a result, in place of what the agent has written there.
func writeProofs(result map[string]json.RawMessage, list []evidence.Proof) error {
	delete(result, proofsOf)
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode proofs: %w", err)
	}
	result[proofsOf] = text
	return nil
}

// refuseAsProofs is the refusal of what is wrong with proofs, nil where nothing is.
func refuseAsProofs(p fault.Problems) error {
	if len(p) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.ProofRefused, Message: "A proof does not fit the work that is handed in.", Fields: p}
}

// nameProofsTx has a job name the blobs of its proofs. ProofRefused for one that the agent has not put since it
// claimed the job: another job's content proves nothing here.
func nameProofsTx(
	ctx context.Context, tx db.Tx, contents Contents, who tenancy.Principal, job jobs.Locked, list []evidence.Proof,
) error {
	p := fault.Problems{}
	for i, proof := range list {
		sum, err := blobs.ParseSum(proof.Blob)
		if err == nil && contents != nil {
			err = contents.ReferPutTx(ctx, tx, who, sum, job.Lease.ClaimedAt, blobs.Ref{Job: job.ID})
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err != nil || contents == nil {
			p.Add(proofField(i, "blob"), "It must have been put with PUT /blobs under this lease.")
		}
	}
	return refuseAsProofs(p)
}
