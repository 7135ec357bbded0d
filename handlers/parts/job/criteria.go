package job

import (
	"strconv"

	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
)

// Criteria returns the check list of a job, with what ticks it where the
// reader may.
func Criteria(j jobs.Job, canWrite bool) view.Acceptance {
	var m view.Acceptance
	met := 0
	for i, text := range j.Acceptance {
		m.Items = append(m.Items, view.Criterion{Text: text, Met: j.AcceptanceMet[i]})
		if j.AcceptanceMet[i] {
			met++
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
