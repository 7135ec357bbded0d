package worker

import (
	"context"
	"os"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
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
	answer, err := a.w.api.PutBlobWithBodyWithResponse(ctx, "application/octet-stream",
		&withoutSecrets{file: file, secret: a.reporter.secret})
	switch {
	case err != nil:
		a.w.Log.Warn("the whole patch could not be stored: "+err.Error(), "job", a.job.Key)
		return nil
	case answer.JSON200 != nil:
		return &answer.JSON200.Sha256
	case answer.JSON201 != nil:
		return &answer.JSON201.Sha256
	}
	// Such as the page of a proxy.
	a.w.Log.Warn("the whole patch could not be stored: the server answered "+answer.Status(), "job", a.job.Key)
	return nil
}
