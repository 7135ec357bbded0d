package statuspage

import (
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/coordinator/proof"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/statuspage"
	"github.com/fleetboard/fleetboard/views/ui"
)

// proofModel says what was looked at after changes of PostgreSQL, and what is missing.
func (s pageData) proofModel() view.Proofs {
	var m view.Proofs
	for _, l := range s.losses {
		line := view.ProofLine{ID: "loss-" + strconv.FormatInt(l.ID, 10), At: ui.Day(l.NoticedAt), What: "Loss",
			Text: web.LossText(l), Tone: ui.Bad}
		if l.NotedAt != nil {
			line.What, line.Tone = "Loss, noted", ui.Warn
		} else if s.canRun {
			m.Note = links.NoteLosses
		}
		m.Lines = append(m.Lines, line)
	}
	for _, p := range s.proofs {
		what, text, tone := proofWords(p)
		m.Lines = append(m.Lines, view.ProofLine{ID: "proof-" + strconv.FormatInt(p.ID, 10), At: ui.Day(p.NoticedAt),
			What: what, Text: text, Tone: tone})
	}
	return m
}

// proofWords says what happened to PostgreSQL, and what was found after it.
func proofWords(p proof.Proof) (what, text string, tone ui.Tone) {
	what = "Promotion or restore"
	if p.Kind == proof.Moved {
		what = "Another cluster"
	}
	jobs := web.Plural(int(p.Jobs), "job of ", "jobs of ") + web.Plural(int(p.Workspaces), "workspace", "workspaces")
	switch {
	case p.DoneAt == nil:
		return what, "Audit and verify-log are looking at everything.", ui.Warn
	case p.Blind != "":
		return what, "Not everything could be looked at. Run fleetboard audit and fleetboard verify-log.", ui.Bad
	case p.Found > 0:
		return what, web.Plural(int(p.Found), "thing is", "things are") + " wrong among " + jobs +
			". Run fleetboard audit and fleetboard verify-log.", ui.Bad
	default:
		return what, "The rows of " + jobs + " agree with one another and with their log.", ui.OK
	}
}
