package job

import (
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
)

// Ways returns the forms that a job leads a person to who may change it: that of the job
// itself first.
func Ways(j jobs.Job) []view.Way {
	list := []view.Way{{Name: "edit", Label: "Edit", Icon: "pencil", URL: links.JobEdit(j.Key, ""), Key: "e"}}
	if j.Status == jobs.Failed || j.Status == jobs.Aborted {
		list = append(list, view.Way{Name: "retry-with", Label: "Retry with changes", Icon: "rotate-cw", URL: links.JobRetryWith(j.Key)})
	}
	return append(list, view.Way{Name: "copy", Label: "Duplicate", Icon: "copy", URL: links.JobCopy(j.Key)})
}
