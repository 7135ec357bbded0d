package jobs

import (
	"bytes"
	"encoding/json"
	"reflect"

	"fleetboard/internal/eventlog"
)

// changes lists the fields that differ, for the event: whatever State holds, but for
// what is implied. Replay rebuilds a job's state from them.
func (d Decision) changes() []eventlog.Change {
	before, after := d.Before.State(), d.After.State()
	var list []eventlog.Change
	for _, f := range fieldList {
		if f.implied {
			continue
		}
		if was, is := before.value(f.at), after.value(f.at); !isSame(was, is) {
			list = append(list, eventlog.Change{Field: f.name, Old: was, New: is})
		}
	}
	return append(list, d.Beside...)
}

func isSame(a, b any) bool {
	if raw, ok := a.(json.RawMessage); ok {
		return bytes.Equal(raw, b.(json.RawMessage))
	}
	return reflect.DeepEqual(a, b)
}

// beginning lists the fields with which a job is made.
func (j Job) beginning() []eventlog.Change {
	list := Decision{After: j}.changes()
	for i := range list {
		list[i].Old = nil
	}
	return list
}
