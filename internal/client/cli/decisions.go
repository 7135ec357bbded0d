package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// printDecisions prints for each attempt why its factory, and how the others did.
func printDecisions(s *screen, w io.Writer, reply api.DecisionList) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "Factories were not compared for this job.")
	}
	for _, d := range reply.Items {
		fmt.Fprintf(w, "Attempt %d: %s, %s. %s\n", d.Epoch, cleanLine(d.Chosen), s.ago(d.At), cleanLine(d.Why))
		t := s.table("FACTORY", "SCORE", "MISSING").narrows("MISSING")
		for _, c := range d.Candidates {
			score := ""
			if c.Eligible {
				score = fmt.Sprintf("%.2f", c.Score)
			}
			t.row(c.Factory, score, strings.Join(c.Missing, ", "))
		}
		t.print(w)
	}
}

// printDivergence prints how many decisions are of each class, and the newest that differ.
func printDivergence(s *screen, w io.Writer, d api.Divergence) {
	out := facts{w}
	out.line("decisions", fmt.Sprintf("%d since %s", d.Decisions, s.ago(d.Since)))
	for _, c := range []struct {
		name string
		n    int
	}{{"same", d.Classes.Same}, {"tie", d.Classes.Tie}, {"stale snapshot", d.Classes.StaleSnapshot}, {"infeasible", d.Classes.Infeasible},
		{"real", d.Classes.Real}} {
		out.line(c.name, fmt.Sprint(c.n))
	}
	if len(d.Examples) == 0 {
		return
	}
	t := s.table("JOB", "AT", "GOT IT", "BEST", "WHY").narrows("WHY")
	for _, e := range d.Examples {
		t.row(e.Job, s.ago(e.At), e.Pulled, cmp.Or(e.Scored, "none"), e.Why)
	}
	t.print(w)
}
