package views

import (
	"strconv"
	"strings"

	"fleetboard/views/ui"
)

type keyGroup struct {
	title string
	keys  []keyLine
}

type keyLine struct {
	does string
	keys []string
}

// keyHelp lists what static/js/keys.js listens to.
func keyHelp(s Shell) []keyGroup {
	anywhere := []keyLine{
		{"Search or jump to", []string{"⌘", "K"}},
		{"Search on this page", []string{"/"}},
		{"Board", []string{"G", "B"}},
		{"Review", []string{"G", "R"}},
		{"Agents", []string{"G", "A"}},
		{"Timeline", []string{"G", "T"}},
		{"Settings", []string{"G", "S"}},
		{"This list", []string{"?"}},
	}
	if s.CanWrite {
		anywhere = append([]keyLine{{"New job", []string{"C"}}}, anywhere...)
	}
	groups := []keyGroup{{"Anywhere", anywhere}}
	if s.Section == SectionBoard {
		groups = append(groups, keyGroup{"On the board", []keyLine{
			{"Next, previous card", []string{"J", "K"}},
			{"Column left, right", []string{"H", "L"}},
			{"Open the card", []string{"↵"}},
			{"Menu of the card", []string{"M"}},
			{"Move, in the menu", []string{"1", "–", "6"}},
		}})
	}
	if s.Section == SectionReview {
		groups = append(groups, keyGroup{"In the review", reviewKeys(s.CanWrite)})
	}
	if s.Section == SectionNewJob {
		groups = append(groups, keyGroup{"In the form", []keyLine{{"Create the job", []string{"⌘", "↵"}}}})
	}
	return groups
}

func reviewKeys(canWrite bool) []keyLine {
	keys := []keyLine{
		{"Next, previous job", []string{"J", "K"}},
		{"Open the job", []string{"O"}},
	}
	if canWrite {
		keys = append(keys, keyLine{"Approve", []string{"A"}}, keyLine{"Reject", []string{"R"}})
	}
	return keys
}

// textPart is a piece of a found text.
type textPart struct {
	text string
	hit  bool
}

// split marks the first place where the query stands in the text, whatever its
// case. Only queries in ASCII are marked, so that lengths agree.
func split(text, query string) []textPart {
	text = ui.Clean(text)
	query = strings.TrimSpace(query)
	at := -1
	if query != "" && isASCII(text) && isASCII(query) {
		at = strings.Index(strings.ToLower(text), strings.ToLower(query))
	}
	if at < 0 {
		return []textPart{{text: text}}
	}
	end := at + len(query)
	return []textPart{{text: text[:at]}, {text: text[at:end], hit: true}, {text: text[end:]}}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func rowID(group, row int) string {
	return "pal-" + strconv.Itoa(group) + "-" + strconv.Itoa(row)
}

func boolText(b bool) string { return strconv.FormatBool(b) }
