package job

import (
	"context"
	"encoding/json"

	blobparts "github.com/fleetboard/fleetboard/handlers/parts/blob"
	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
)

// readSizes reads how large the blobs are that the page names.
func (p *Pages) readSizes(ctx context.Context, who tenancy.Principal, d *pageData) (err error) {
	sums := messageparts.Sums(d.messages)
	for _, named := range d.named() {
		if sum, there := blobIn(named.in, named.field); there {
			sums = append(sums, sum)
		}
	}
	d.sizes, err = p.Blobs.Sizes(ctx, who, sums...)
	return err
}

// naming is a place of a job that can name a blob.
type naming struct {
	in    json.RawMessage
	field string
}

func (s pageData) named() []naming { return []naming{s.resultBlob(), s.checkpointBlob()} }

func (s pageData) resultBlob() naming     { return naming{s.job.Result, "result_blob"} }
func (s pageData) checkpointBlob() naming { return naming{s.job.Checkpoint, "checkpoint_blob"} }

// blobIn returns the blob that a member of an object names, if it does.
func blobIn(raw json.RawMessage, field string) (sum blobs.Sum, named bool) {
	var members map[string]json.RawMessage
	var name string
	if json.Unmarshal(raw, &members) != nil || json.Unmarshal(members[field], &name) != nil {
		return sum, false
	}
	sum, err := blobs.ParseSum(name)
	return sum, err == nil
}

// download returns the way to a blob, nil where none is named, or it is not there.
func (s pageData) download(n naming) *viewparts.Download {
	sum, named := blobIn(n.in, n.field)
	size, there := s.sizes[sum]
	if !named || !there {
		return nil
	}
	return &viewparts.Download{URL: links.Blob(sum.String()), Size: blobparts.SizeText(size)}
}
