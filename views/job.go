package views

import (
	"strconv"
	"strings"

	"fleetboard/views/ui"
)

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }

// hasMore says that the menu of the top bar holds something on wide screens.
func (j Job) hasMore() bool {
	if len(j.Moves) > 0 {
		return true
	}
	for _, a := range j.Actions {
		if !a.Main {
			return true
		}
	}
	return false
}

// barVerb is the action that stands in the top bar on small screens too, "" for
// none: the last of the main ones, without those that take something away.
func (j Job) barVerb() string {
	verb := ""
	for _, a := range j.Actions {
		if a.Main && !a.Danger {
			verb = a.Verb
		}
	}
	return verb
}

// inMenu are the actions of the top bar's menu.
func (j Job) inMenu() []Action {
	var list []Action
	for _, a := range j.Actions {
		if a.Verb != j.barVerb() {
			list = append(list, a)
		}
	}
	return list
}

// used says that an attempt used a model.
func (j Job) used() bool { return j.Used != Used{} }

// attemptColumns is how wide the table of attempts is, without their numbers.
func (j Job) attemptColumns() string {
	if j.used() {
		return "6"
	}
	return "4"
}

// stripClass fits the strip to the number of its boxes; five is the default.
func stripClass(n int) string {
	if n == 5 {
		return ""
	}
	return "strip-n" + strconv.Itoa(n)
}

func beatClass(t ui.Tone) string {
	switch t {
	case ui.Warn:
		return "live-dot-warn"
	case ui.Bad:
		return "live-dot-bad"
	default:
		return ""
	}
}

func iconTone(t ui.Tone) string {
	switch t {
	case ui.OK:
		return "text-green"
	case ui.Warn:
		return "text-amber"
	case ui.Bad:
		return "text-red"
	default:
		return "text-faint"
	}
}

func (w Why) iconClass() string { return iconTone(w.Tone) }

// cut shortens text to n letters.
func cut(s string, n int) string {
	r := []rune(ui.Clean(s))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}

// hasFacts reports whether there is more to show than words.
func (o Outcome) hasFacts() bool {
	return o.Commit != "" || o.Branch != "" || o.LinkText != "" || o.Approved != "" || o.Merged != "" || o.Touched != "" || o.Kind != ""
}
