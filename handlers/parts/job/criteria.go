package job

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
)

// Criteria returns the check list of a job, with what ticks it where the
// reader may.
func Criteria(j jobs.Job, canWrite bool) view.Acceptance {
	var m view.Acceptance
	met := 0
	proofs := listProofs(j.Result)
	for i, text := range j.Acceptance {
		m.Items = append(m.Items, view.Criterion{Text: text, Met: j.AcceptanceMet[i], Proofs: proofs[text]})
		delete(proofs, text)
		if j.AcceptanceMet[i] {
			met++
		}
	}
	for _, text := range slices.Sorted(maps.Keys(proofs)) {
		for _, p := range proofs[text] {
			p.Of += ": " + web.FirstLine(text, web.MaxQuote)
			m.Others = append(m.Others, p)
		}
	}
	if len(m.Items) > 0 {
		m.Note = strconv.Itoa(met) + " of " + strconv.Itoa(len(m.Items))
	}
	if canWrite {
		m.URL = links.JobTick(j.Key)
	}
	return m
}

// pictures are the ends of names of files that a page shows; whether one is a picture is found out as it is served.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif"}

// listProofs returns the proofs of a result by their criteria.
func listProofs(result json.RawMessage) map[string][]view.Proof {
	list := map[string][]view.Proof{}
	for _, p := range evidence.ReadProofs(result).List {
		list[p.Criterion] = append(list[p.Criterion], view.Proof{Title: cmp.Or(p.Title, p.Blob), Blob: p.Blob,
			Of: "of " + ShortCommit(p.Commit), URL: links.BlobView(p.Blob),
			Picture: slices.Contains(pictures, strings.ToLower(path.Ext(p.Title)))})
	}
	return list
}
