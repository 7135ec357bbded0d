package review

import (
	"context"
	"io"
	"strings"
	"unicode/utf8"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
)

const (
	// maxPreviews is how many proofs are read for a page, maxPreview how much of each, in bytes.
	maxPreviews = 8
	maxPreview  = 2000
)

// previewProofs reads the beginnings of the proofs that are texts. One that cannot be read has none: the page leads
// to it all the same.
func (s site) previewProofs(ctx context.Context, who tenancy.Principal, job jobs.Job) map[string]string {
	texts := map[string]string{}
	for _, c := range jobparts.Criteria(job, false).Items {
		for _, p := range c.Proofs {
			if _, known := texts[p.Blob]; p.Picture || known || len(texts) == maxPreviews {
				continue
			}
			texts[p.Blob] = s.readText(ctx, who, p.Blob)
		}
	}
	return texts
}

// readText returns the beginning of a blob, "" where it is no text.
func (s site) readText(ctx context.Context, who tenancy.Principal, name string) string {
	sum, err := blobs.ParseSum(name)
	if err != nil {
		return ""
	}
	content, err := s.Blobs.Open(ctx, who, sum)
	if err != nil {
		return ""
	}
	raw, err := io.ReadAll(io.LimitReader(content.InTurn(), maxPreview))
	if err != nil {
		return ""
	}
	for cut := 0; len(raw) == maxPreview && cut < utf8.UTFMax-1 && !utf8.Valid(raw[:maxPreview-cut]); cut++ {
		raw = raw[:maxPreview-cut-1]
	}
	if text := string(raw); utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
		if content.Size > int64(len(raw)) {
			text += "…"
		}
		return text
	}
	return ""
}

// preview adds the beginnings of texts to the proofs of a check list.
func (j reviewedJob) preview(a viewparts.Acceptance) {
	for _, c := range a.Items {
		for i, p := range c.Proofs {
			c.Proofs[i].Text = j.previews[p.Blob]
		}
	}
}
