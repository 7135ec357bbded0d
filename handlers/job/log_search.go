package job

import (
	"regexp"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/ui"
)

// marker finds a text in lines, in capitals or not; nil finds nothing.
type marker struct{ text *regexp.Regexp }

func matcher(text string) marker {
	if text == "" {
		return marker{}
	}
	return marker{regexp.MustCompile("(?i)" + regexp.QuoteMeta(text))}
}

// mark cuts the message of a line so that the text stands out in it.
func (m marker) mark(l view.LogLine) view.LogLine {
	if m.text == nil {
		return l
	}
	said, from := l.Message[0].Text, 0
	l.Message = nil
	for _, at := range m.text.FindAllStringIndex(said, -1) {
		l.Message = append(l.Message, view.LogPiece{Text: said[from:at[0]]}, view.LogPiece{Text: said[at[0]:at[1]], Hit: true})
		from = at[1]
	}
	l.Message = append(l.Message, view.LogPiece{Text: said[from:]})
	return l
}

// logState says whether more lines are to come: from an agent that still calls, from one
// that is silent, or not before the next claim.
func logState(j jobs.Job, snap fleet.Snapshot) view.LogState {
	if j.Lease == nil {
		if j.Epoch == 0 {
			return view.LogState{Word: "not begun"}
		}
		return view.LogState{Word: "ended"}
	}
	for _, f := range snap.Factories {
		for _, a := range f.Agents {
			if a.ID == j.Lease.AgentID && a.Health != fleet.Healthy {
				return view.LogState{Tone: ui.Warn, Word: "agent silent since", Since: ui.Until(a.LastHeartbeatAt, web.Now(snap))}
			}
		}
	}
	return view.LogState{Tone: ui.OK, Word: "live"}
}
