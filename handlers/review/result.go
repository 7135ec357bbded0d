package review

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	view "github.com/fleetboard/fleetboard/views/review"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Limits of what a page says of a result.
const (
	maxFindings = 12
	maxMembers  = 6 // of an object in one line
)

// shownElsewhere are the members of a result that the page shows in places of
// their own.
var shownElsewhere = slices.Concat([]string{"summary", "commit", "branch", "url", "patch_blob", "proofs",
	"proof_error"}, warned, jobparts.ChangesNames)

// object is a JSON object of which nothing is known for certain.
type object map[string]json.RawMessage

func parseObject(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// parseFindings returns the other members of a result that fit into a line each, such
// as tests and usage. The rest is in the whole of the result.
func parseFindings(raw json.RawMessage) []view.Finding {
	o := parseObject(raw)
	names := make([]string, 0, len(o))
	for name := range o {
		if !slices.Contains(shownElsewhere, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var list []view.Finding
	for _, name := range names {
		text, ok := formatLine(o[name])
		if ok && len(list) < maxFindings {
			list = append(list, view.Finding{Name: jobparts.CheckName(name), Text: text, Tone: jobparts.CheckTone(o[name])})
		}
	}
	return list
}

// formatLine writes a value in one line: a scalar, a short list of them, or an
// object of a few.
func formatLine(raw json.RawMessage) (string, bool) {
	if text, ok := scalar(raw); ok {
		return text, text != ""
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return joined(list, func(item json.RawMessage) (string, bool) { return scalar(item) })
	}
	o := parseObject(raw)
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return joined(names, func(name string) (string, bool) {
		text, ok := scalar(o[name])
		return strings.ReplaceAll(name, "_", " ") + " " + text, ok
	})
}

func joined[T any](list []T, write func(T) (string, bool)) (string, bool) {
	if len(list) == 0 || len(list) > maxMembers {
		return "", false
	}
	words := make([]string, len(list))
	for i, item := range list {
		text, ok := write(item)
		if !ok {
			return "", false
		}
		words[i] = text
	}
	return web.FirstLine(strings.Join(words, ", "), web.MaxQuote), true
}

func scalar(raw json.RawMessage) (string, bool) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return web.FirstLine(v, web.MaxQuote), true
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v], true
	case float64:
		if v == float64(int64(v)) && v >= 0 && v < 1e15 {
			return ui.Count(int(v)), true
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case nil:
		return "", true
	default:
		return "", false
	}
}
