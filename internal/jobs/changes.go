package jobs

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/fleetboard/fleetboard/internal/eventlog"
)

// changes lists the fields that differ, for the event: whatever State holds, but for
// what is implied. Replay rebuilds a job's state from them.
func (d Decision) changes() []eventlog.Change {
	before, after := d.Before.State(), d.After.State()
	old, new := reflect.ValueOf(&before).Elem(), reflect.ValueOf(&after).Elem()
	var list []eventlog.Change
	for _, f := range fieldList {
		if f.implied || isEqual(old.FieldByIndex(f.at), new.FieldByIndex(f.at)) {
			continue
		}
		if was, is := before.value(f.at), after.value(f.at); !isSame(was, is) {
			list = append(list, eventlog.Change{Field: f.name, Old: was, New: is})
		}
	}
	return append(list, d.Beside...)
}

// isEqual reports whether two values of a field are seen to be equal at a glance: most are,
// and to bring them into their one form costs more.
func isEqual(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Slice:
		return a.Len() == 0 && b.Len() == 0
	case reflect.Pointer, reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return a.Equal(b)
	default:
		return false
	}
}

// isSame reports whether two values in their one form are equal.
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
