package views

import (
	"strings"

	"fleetboard/views/ui"
)

// main is the job that the row's times are about: the first one.
func (a Agent) main() AgentJob {
	if len(a.Jobs) == 0 {
		return AgentJob{Percent: -1}
	}
	return a.Jobs[0]
}

func (a Agent) percent() int      { return a.main().Percent }
func (a Agent) late() bool        { return a.main().ProgressLate }
func (a Agent) progress() ui.When { return a.main().Progress }
func (a Agent) lease() ui.When    { return a.main().Lease }

func joinClean(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = ui.Clean(n)
	}
	return strings.Join(out, ", ")
}
