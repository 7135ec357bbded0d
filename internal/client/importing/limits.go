package importing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/api"
)

func (s *Step) skip(why string) { s.Action, s.Why = Skip, why }

func (s *Step) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// noteNew is said once, when the job is made.
func (s *Step) noteNew(format string, args ...any) {
	if s.Action == Create {
		s.note(format, args...)
	}
}

// cut shortens a text to what the server takes.
func (s *Step) cut(text string, most int, what string) string {
	if runes := []rune(text); len(runes) > most {
		s.note("%s cut to %d characters", what, most)
		return strings.TrimSpace(string(runes[:most]))
	}
	return text
}

// fitting returns the begin of a text that takes at most so many bytes as JSON.
func fitting(text string, most int) string {
	const longest = 6 // \u2028
	size := 0
	for i, r := range text {
		switch r {
		case '"', '\\', '\n', '\t':
			size += 2
		case '\u2028', '\u2029':
			size += longest
		default:
			size += utf8.RuneLen(r)
		}
		if size > most {
			return text[:i]
		}
	}
	return text
}

// nameForm is what the server takes as the name of a kind.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)

// kind returns the kind of a job; none where the server would refuse it.
func (s *Step) kind(name string) string {
	if name == "" || len(name) <= api.MaxNewJobKind && nameForm.MatchString(name) {
		return name
	}
	s.note("kind %s left out, it must be a name", name)
	return ""
}

// labels returns an item's tags, with space for that of its format.
func (s *Step) labels(one Item) []string {
	const most = api.MaxNewJobTags - 1
	var labels []string
	for _, tag := range one.Tags {
		if tag = s.cut(tag, api.MaxNewJobTagsItem, "tag"); tag != formatTag(one.Source) && !slices.Contains(labels, tag) {
			labels = append(labels, tag)
		}
	}
	if len(labels) > most {
		s.note("%d tags left out", len(labels)-most)
		labels = labels[:most]
	}
	return labels
}

// criteria returns an item's criteria, as many as a job holds.
func (s *Step) criteria(all []string) []string {
	var list []string
	for _, one := range all {
		list = append(list, s.cut(one, api.MaxNewJobAcceptanceItem, "criterion"))
	}
	if len(list) > api.MaxNewJobAcceptance {
		s.note("%d criteria left out", len(list)-api.MaxNewJobAcceptance)
		list = list[:api.MaxNewJobAcceptance]
	}
	return list
}
