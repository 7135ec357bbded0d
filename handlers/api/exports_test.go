package api_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Only what was given out can be acknowledged: a position that nobody has read would skip
// what lies before it.
func TestAnExportMovesOnlyWhereItWasRead(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"messages", "events"} {
		t.Run(source, func(t *testing.T) {
			w := newAPIServer(t)
			w.agent("ada")
			for i := range 4 {
				w.job(fmt.Sprint("job ", i))
				w.as(w.owner, "POST", "/messages", object{"type": "custom.note", "to": object{"agent": "ada"}, "payload": object{"i": i}}).want(201)
			}
			make := func(name string) string {
				w.as(w.owner, "POST", "/exports", object{"name": name, "source": source}).want(200)
				return "/exports/" + name
			}
			next := func(export, query string) answer { return w.as(w.owner, "GET", export+"/next"+query, nil).want(200) }
			ack := func(export, position string) answer {
				return w.as(w.owner, "POST", export+"/ack", object{"position": position})
			}
			export, scout := make("disk"), make("scout")
			all := next(scout, "")
			last := all.text("position")
			future := map[string]string{"messages": "9223372036854775807", "events": "9223372036854775807-1"}[source]
			for _, unread := range []string{last, all.text("items", 0, "position"), future} {
				ack(export, unread).want(422).refused(fault.Validation, "position")
			}
			first := next(export, "?limit=1").text("position")
			ack(export, all.text("items", 1, "position")).want(422).refused(fault.Validation, "position")
			if got := ack(export, first).want(200).text("position"); got != first {
				t.Errorf("acknowledged up to %s, want %s", got, first)
			}
			next(export, "?after="+future) // gives out nothing
			ack(export, last).want(422)
			next(export, "")
			ack(export, last).want(200)
			ack(export, first).want(200) // an older one does nothing
			if again := next(export, ""); again.count("items") != 0 || again.text("position") != last {
				t.Errorf("after the end: %s", again.raw)
			}

			reset := func(position string) answer {
				return w.as(w.owner, "POST", export+"/reset", object{"position": position})
			}
			for _, bad := range []string{future, "here", "-1"} {
				reset(bad).want(422).refused(fault.Validation, "position")
			}
			if got := reset(first).want(200).text("position"); got != first {
				t.Errorf("reset to %s, want %s", got, first)
			}
			ack(export, last).want(422) // by whoever had read it before
			if again := next(export, ""); again.count("items") < all.count("items")-1 {
				t.Errorf("%d lines again, want %d", again.count("items"), all.count("items")-1)
			}
			ack(export, last).want(200)
			reset("").want(200)
			ack(export, first).want(422)
			if again := next(export, "?limit=200"); again.count("items") < all.count("items") {
				t.Errorf("%d lines from the beginning, want %d", again.count("items"), all.count("items"))
			}
		})
	}
}

func TestAnExportIsRemovedByItsName(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "POST", "/exports", object{"name": "disk", "source": "events"}).want(200)
	for _, confirm := range []string{"", "?confirm=", "?confirm=other", "?confirm=DISK"} {
		w.as(w.owner, "DELETE", "/exports/disk"+confirm, nil).want(422).refused(fault.Validation, "confirm")
	}
	_, guest := w.guest()
	for _, token := range []string{guest, w.agent("ada")} {
		w.as(token, "DELETE", "/exports/disk?confirm=disk", nil).want(403)
		w.as(token, "POST", "/exports/disk/reset", object{"position": ""}).want(403)
	}
	stranger := w.otherWorkspace()
	w.as(stranger, "DELETE", "/exports/disk?confirm=disk", nil).want(404)
	w.as(stranger, "POST", "/exports/disk/reset", object{"position": ""}).want(404)
	w.as(w.owner, "POST", "/exports/disk/reset", object{"position": ""}).want(200)
	w.as(w.owner, "DELETE", "/exports/disk?confirm=disk", nil).want(204)
	w.as(w.owner, "DELETE", "/exports/disk?confirm=disk", nil).want(404)
	w.as(w.owner, "GET", "/exports/disk/next", nil).want(404)
	for kind, who := range map[string]string{"export.created": "disk", "export.reset": "disk", "export.removed": "disk"} {
		found := w.as(w.owner, "GET", "/events?type="+kind, nil).want(200)
		if found.count("items") != 1 || found.text("items", 0, "payload", "export") != who {
			t.Errorf("%s: %s", kind, found.raw)
		}
	}
}
