package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/process"
	"github.com/fleetboard/fleetboard/internal/client/worker/proving"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// patchTimeout bounds the upload of a patch.
const patchTimeout = 5 * time.Minute

// keepPatch stores the whole of a patch that is too long to be shown, and returns its name;
// nil where it is shown, and where the server does not take it: the work is handed in all
// the same, and the branch has it.
func (a *attempt) keepPatch(ctx context.Context, d repos.Diff) *string {
	if !d.Truncated {
		return nil
	}
	a.reporter.step("stores the whole patch")
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	file, err := os.Open(d.Whole)
	if err != nil {
		a.w.Log.Warn("the whole patch could not be read: "+err.Error(), "job", a.job.Key)
		return nil
	}
	defer func() { _ = file.Close() }() // it was read
	name, err := a.w.putBlob(ctx, &withoutSecrets{file: file, secret: a.reporter.secret})
	if err != nil {
		a.w.Log.Warn("the whole patch could not be stored: "+err.Error(), "job", a.job.Key)
		return nil
	}
	return &name
}

// putBlob stores a content and returns its name.
func (w *Worker) putBlob(ctx context.Context, content io.Reader) (name string, err error) {
	answer, err := w.api.PutBlobWithBodyWithResponse(ctx, "application/octet-stream", content)
	switch {
	case err != nil:
		return "", err
	case answer.JSON200 != nil:
		return answer.JSON200.Sha256, nil
	case answer.JSON201 != nil:
		return answer.JSON201.Sha256, nil
	}
	return "", errors.New("the server answered " + answer.Status()) // such as the page of a proxy
}

// proofTime is how long a proof command may take, where the options say nothing else.
const proofTime = 10 * time.Minute

// proof is what the product's proof command shows of work that is handed in.
type proof struct {
	*attempt

	command, commit string

	list  []api.CompletionProof
	wrong []string // what kept proofs from being made
}

// prove runs the product's proof command in a clean checkout of the commit, and adds what it shows to what
// is handed in. Whatever goes wrong there is told beside it: no work is lost for want of a proof.
func prove(ctx context.Context, a *attempt, work *api.Completion) {
	command := said(a.job.ProofCommand)
	if strings.TrimSpace(command) == "" || work.Commit == nil || len(a.job.Acceptance) == 0 {
		return
	}
	p := &proof{attempt: a, command: command, commit: *work.Commit}
	a.reporter.step("proves its work: " + command)
	_ = trace(ctx, "proof", "checks_failed", p.make) // it is told as what it is
	if len(p.list) > 0 {
		work.Proofs = &p.list
	}
	if len(p.wrong) > 0 {
		text := a.reporter.secret.Cut(plainText(strings.Join(p.wrong, "\n")), api.MaxCompletionProofError)
		a.reporter.log("WARNING", "proof", text)
		work.ProofError = &text
	}
}

// make runs the command, and stores what it has written, also where it has failed.
func (p *proof) make(ctx context.Context) error {
	process.KillMarked(p.attemptMarker()) // what the engine left running
	tree, err := p.w.Repos.CheckOut(ctx, repos.CheckOutRequest{Repo: p.job.Repo, Commit: p.commit, Branch: p.tree.Branch})
	if err != nil {
		return p.fail("The commit could not be checked out to be proved: " + err.Error())
	}
	defer tree.Close()
	path, err := os.MkdirTemp(p.scratch, "proof-")
	if err != nil {
		return p.fail("There is no directory for proofs: " + err.Error())
	}
	defer func() { _ = os.RemoveAll(path) }() // it goes with the attempt's otherwise
	dir, err := os.OpenRoot(path)
	if err != nil {
		return p.fail("There is no directory for proofs: " + err.Error())
	}
	defer func() { _ = dir.Close() }() // it was read
	err = p.run(ctx, tree.Dir, path)
	process.KillMarked(p.attemptMarker()) // what the command left running
	if ctx.Err() != nil {
		return ctx.Err()
	}
	found, left := proving.Reader{Acceptance: p.job.Acceptance, Secret: p.reporter.secret,
		Search: redact.NewSearch(p.values()...)}.Files(dir)
	p.wrong = append(p.wrong, left...)
	p.store(ctx, found)
	return err
}

// fail notes what kept proofs from being made.
func (p *proof) fail(said string) error {
	p.wrong = append(p.wrong, said)
	return errors.New(said)
}

// run runs the command in the checkout. One that fails, or does not end, is told with its last lines.
func (p *proof) run(ctx context.Context, checkout, dir string) error {
	limit := cmp.Or(p.w.ProofTime, proofTime)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	printed, err := p.check(limited, p.command, checkout, "FLEETBOARD_PROOF="+dir, "FLEETBOARD_COMMIT="+p.commit)
	if limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it took longer than %s", limit)
	}
	if err == nil {
		return nil
	}
	said := fmt.Sprintf("The proof command failed (%s): %v.", redact.Cut(plainLine(p.command), maxCheckSaid), err)
	return p.fail(strings.TrimSpace(said + "\n" + printed[max(0, len(printed)-maxProofSaid):]))
}

// maxProofSaid is how much of what a proof command printed is told, in bytes.
const maxProofSaid = 2500

// store puts the files, and notes them as proofs of the commit.
func (p *proof) store(ctx context.Context, files []proving.File) {
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	for _, f := range files {
		name, err := p.w.putBlob(ctx, bytes.NewReader(f.Content))
		if err != nil {
			p.wrong = append(p.wrong, f.Title+" could not be stored: "+err.Error())
			continue
		}
		p.list = append(p.list, api.CompletionProof{Criterion: f.Criterion, Commit: p.commit, Blob: name, Title: &f.Title})
	}
}
