package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func coordinatorCommand(c *cli) *cobra.Command {
	return group("coordinator", "The servers, and who of them coordinates", c.verbsBelow("coordinator")...)
}

// printCoordinator prints who leads, the servers that live, and what the database lacks.
func printCoordinator(s *screen, w io.Writer, reply api.CoordinatorStatus) {
	out := facts{w}
	leader := "nobody"
	if reply.Active {
		leader = reply.InstanceID
	}
	out.line("coordinates", leader)
	out.line("last cycle", s.agoOrEmpty(reply.LastCycleAt))
	wakes := string(reply.Transport.Name)
	if reply.Transport.Fallback {
		wakes += fmt.Sprintf(", not connected: jobs are looked for every %d s", reply.Transport.PollSeconds)
	}
	out.line("wake-ups", wakes)
	for _, p := range reply.Proofs {
		out.line("proof", proofText(s, p))
	}
	for _, l := range reply.Losses {
		out.line("loss", lossText(s, l))
	}
	t := s.table("SERVER", "VERSION", "SINCE")
	for _, one := range reply.Servers {
		t.row(one.Name, one.Version, s.ago(one.Since))
	}
	t.print(w)
}

func proofText(s *screen, p api.DatabaseProof) string {
	text := fmt.Sprintf("another PostgreSQL (%s), %s: ", p.Kind, s.ago(p.NoticedAt))
	switch {
	case p.DoneAt == nil:
		return text + "under way"
	case !p.Complete:
		return text + "not everything could be looked at"
	case p.Found > 0:
		return text + fmt.Sprintf("%d jobs, %d findings: run `fleetboard audit`", p.Jobs, p.Found)
	}
	return text + fmt.Sprintf("%d jobs, nothing found", p.Jobs)
}

func lossText(s *screen, l api.LogLoss) string {
	text := l.Detail
	if l.Count > 0 {
		text = fmt.Sprintf("%d events of the log, %d to %d", l.Count, l.First, l.Last)
	}
	text += ", noticed " + s.ago(l.NoticedAt)
	if l.NotedAt == nil {
		text += "; `fleet coordinator note-losses` once you know what was lost"
	}
	return text
}

func printNoted(_ *screen, w io.Writer, reply api.NotedLosses) {
	fmt.Fprintf(w, "%d noted.\n", reply.Noted)
}
