package job

import (
	"strings"
	"testing"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
)

// Every move of every status has words of its own.
func TestMovesHaveWords(t *testing.T) {
	for _, status := range jobs.Statuses {
		for _, to := range screens.Columns {
			j := jobs.Job{Key: "FB-1", Status: status}
			by, whyNot := screens.FindMove(j, to)
			if whyNot != "" {
				continue
			}
			m := jobparts.Moves(j, []screens.Move{{To: to, Verb: by}})[0]
			if !strings.HasPrefix(m.Label, jobparts.ColumnTitles[to]+", ") {
				t.Errorf("%s to %s by %s is called %q", status, to, by, m.Label)
			}
		}
	}
}
