package cli

import (
	"fmt"
	"io"

	"github.com/fleetboard/fleetboard/api"
)

// printAutoApprovePreview prints what the policy would have decided.
func printAutoApprovePreview(s *screen, w io.Writer, p api.AutoApprovePreview) {
	out := facts{w}
	looked := fmt.Sprintf("%d hand-ins since %s", p.Reviewed, s.ago(p.Since))
	if p.More {
		looked += ", the newest"
	}
	out.line("looked at", looked)
	out.line("approved", fmt.Sprintf("%d, of which people have sent back %d", p.Passed, p.Rejected))
	for _, h := range p.Held {
		out.line("held by "+string(h.Limit), fmt.Sprintf("%d, %d by that alone", h.Count, h.Alone))
	}
	if len(p.Items) == 0 {
		return
	}
	t := s.table("JOB", "AT", "POLICY", "DECIDED", "WHY").narrows("WHY")
	for _, one := range p.Items {
		t.row(one.Job, s.ago(one.At), map[bool]string{true: "approves", false: "holds"}[one.Passed], string(one.Decided), one.Reason)
	}
	t.print(w)
}
