package report

import (
	"context"

	"fleetboard/db"
	"fleetboard/internal/blobs"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Contents keeps what jobs name by its SHA-256.
type Contents interface {
	ReferTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum blobs.Sum, by blobs.Ref) error
}

// NamesBlobs lets completions name blobs of c. It is to be called before the service is
// used; without it there are none.
func (s *Service) NamesBlobs(c Contents) { s.contents = c }

// namePatchTx has a job name the blob of a whole patch, if there is one. Validation where
// that is not there, or who may not read it.
func (s *Service) namePatchTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, patch string) error {
	if patch == "" {
		return nil
	}
	missing := fault.Invalid("patch_blob", "There is no such blob here. Put it with PUT /blobs first.")
	sum, err := blobs.ParseSum(patch)
	if err != nil || s.contents == nil {
		return missing
	}
	if err = s.contents.ReferTx(ctx, tx, who, sum, blobs.Ref{Job: job}); fault.Is(err, fault.NotFound) {
		return missing
	}
	return err
}
