package bus

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// What is passed over unread would not be sent either, whatever it says.
func TestWhatIsPassedOverIsRoutine(t *testing.T) {
	job := ids.New()
	for _, name := range routineEvents {
		e := eventlog.Event{Type: eventlog.Type(name), JobID: &job, Changes: []eventlog.Change{{Field: "status", Old: "ready", New: "running"}}}
		if kind := noticeType(e); !isRoutine(kind, e) {
			t.Errorf("%s is told as %s, and is passed over", name, kind)
		}
	}
}
