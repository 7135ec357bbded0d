package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/fleetboard/fleetboard/api"
)

// verdictWords are what verifiers say.
var verdictWords = map[string]string{"approve": "approves it", "changes": "wants changes", "unsure": "is not sure"}

func printVerifications(s *screen, w io.Writer, reply api.VerificationPage) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "Nobody has verified it.")
	}
	for _, v := range reply.Items {
		fmt.Fprintf(w, "Round %d of %d, %s in %s: %s, %s. It cost %s.\n", v.Round, v.Rounds, cleanLine(v.Commit), v.Job, sayVerdict(v),
			s.ago(*cmp.Or(v.EndedAt, &v.At)), dollars(v.CostUSD))
		for _, c := range v.Criteria {
			met := map[string]string{"yes": "met", "no": "not met"}[c.Met]
			fmt.Fprintf(w, "  %s: %s\n", cmp.Or(met, "unknown"), cleanLine(c.Text))
			if c.Evidence != "" {
				fmt.Fprintf(w, "    %s\n", cleanLine(c.Evidence))
			}
		}
		for _, f := range v.Findings {
			place := cleanLine(f.Path)
			if f.Line > 0 {
				place += fmt.Sprintf(":%d", f.Line)
			}
			fmt.Fprintf(w, "  %s %s: %s\n", f.Severity, place, cleanLine(f.Text))
		}
	}
	more(w, reply.NextCursor)
}

// sayVerdict says what a verifier says, or how far it is.
func sayVerdict(v api.Verification) string {
	who := cmp.Or(cleanLine(v.Agent), "nobody")
	switch v.Status {
	case api.VerificationSaid:
		return who + " " + verdictWords[v.Verdict]
	case api.VerificationClosed:
		if v.Error != "" {
			return "closed without a verdict (" + cleanLine(v.Error) + ")"
		}
		return "closed without a verdict"
	}
	if v.Agent == "" {
		return "waits for a verifier"
	}
	return who + " verifies it"
}
