package jobform

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// copyJob returns the form of a new job like another one, and what of that is not copied: a
// time that is over, and inputs that are secret or not one line of text.
func copyJob(j jobs.Job, now time.Time) (ui.Form, view.Copy) {
	if j.NotBefore != nil && !j.NotBefore.After(now) {
		j.NotBefore = nil
	}
	if j.Product == jobs.DefaultProduct {
		j.Product = ""
	}
	f, from := fill(j), view.Copy{Key: j.Key, URL: links.Job(j.Key), Secrets: j.SecretKeys}
	var inputs map[string]json.RawMessage
	_ = json.Unmarshal(j.InputContext, &inputs) // it is an object
	lines := ""
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		var value string
		switch {
		case slices.Contains(j.SecretKeys, name):
		case json.Unmarshal(inputs[name], &value) != nil, strings.ContainsAny(value, "\r\n"), strings.ContainsAny(name, "=\r\n"):
			from.Left = append(from.Left, name)
		default:
			lines += name + "=" + value + "\n"
		}
	}
	f.Typed.Set("inputs", lines)
	return f, from
}
