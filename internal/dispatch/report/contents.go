package report

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Contents keeps what jobs name by its SHA-256.
type Contents interface {
	ReferTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum blobs.Sum, by blobs.Ref) error
	ReferPutTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum blobs.Sum, since time.Time, by blobs.Ref) error
}

// The fields by which a result and a checkpoint name blobs.
const (
	patchBlob      = "patch_blob"
	resultBlob     = "result_blob"
	checkpointBlob = "checkpoint_blob"
)

// BlobCheckpoint returns the checkpoint that is a blob: an object that has its SHA-256 and
// nothing else. Fault: Validation for what is no SHA-256.
func BlobCheckpoint(sum string) (json.RawMessage, error) {
	if _, err := blobs.ParseSum(sum); err != nil {
		return nil, fault.Invalid(checkpointBlob, notASum)
	}
	return json.Marshal(map[string]string{checkpointBlob: sum})
}

const notASum = "It must be a SHA-256 in lower-case hexadecimal digits."

// findCheckpointBlob returns the SHA-256 of the blob that a checkpoint is, "" where it is none.
func findCheckpointBlob(checkpoint json.RawMessage) string {
	var named map[string]any
	if !bytes.Contains(checkpoint, []byte(checkpointBlob)) || json.Unmarshal(checkpoint, &named) != nil || len(named) != 1 {
		return ""
	}
	sum, _ := named[checkpointBlob].(string)
	if _, err := blobs.ParseSum(sum); err != nil {
		return ""
	}
	return sum
}

// nameBlobTx has a job name a blob, if there is one. Validation of the field that names it
// where that is not there, or who may not read it.
func (s *Service) nameBlobTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, field, name string) error {
	if name == "" {
		return nil
	}
	missing := fault.Invalid(field, "There is no such blob here. Put it with PUT /blobs first.")
	sum, err := blobs.ParseSum(name)
	if err != nil || s.contents == nil {
		return missing
	}
	if err = s.contents.ReferTx(ctx, tx, who, sum, blobs.Ref{Job: job}); fault.Is(err, fault.NotFound) {
		return missing
	}
	return err
}
