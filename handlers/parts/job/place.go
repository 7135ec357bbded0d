package job

import "github.com/fleetboard/fleetboard/internal/jobs"

// Place is "ledger-api · M2"; without a repo the product stands for it.
func Place(j jobs.Job) string {
	place := j.Repo
	if place == "" {
		place = j.Product
	}
	if j.Phase != "" {
		place += " · " + j.Phase
	}
	return place
}
