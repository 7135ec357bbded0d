package job

import (
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/history"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// history returns the shown events with the link to older ones, and the note at the
// panel's head.
func (s pageData) history() ([]view.Event, string) {
	shown := s.Events[:min(len(s.Events), eventPage)]
	more := len(s.Events) > eventPage
	list := make([]view.Event, 0, len(shown)+1)
	for _, e := range shown {
		list = append(list, eventModel(e, s.now))
	}
	if more {
		older := links.Job(s.job.Key) + "?before=" + strconv.FormatInt(shown[len(shown)-1].ID, 10) + "#events"
		list = append(list, view.Event{Kind: "older", Text: ui.Say(ui.Link("Show older events", older))})
	}
	switch {
	case s.before > 0:
		return list, strconv.Itoa(len(shown)) + " older"
	case more:
		return list, "newest " + strconv.Itoa(eventPage)
	default:
		return list, strconv.Itoa(len(shown))
	}
}

func eventModel(e eventlog.Event, now time.Time) view.Event {
	m := view.Event{ID: e.ID, At: ui.At(e.At), Kind: history.Kind(e.Type), Who: history.Actor(e.Actor)}
	if now.Sub(e.At) >= 24*time.Hour {
		m.At = ui.Day(e.At)
	}
	if e.Epoch != nil {
		m.Tag = "e" + strconv.FormatInt(*e.Epoch, 10)
	}
	m.From, m.To = history.StatusChange(e)
	switch e.Type {
	case eventlog.JobCreated: // its title stands above
	case eventlog.JobEdited:
		m.Text = ui.Text(history.EditedText(e.Changes))
	default:
		m.Text = history.Text(e)
	}
	return m
}
