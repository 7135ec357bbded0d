package views

import (
	"strconv"

	"github.com/a-h/templ"

	"fleetboard/views/links"
	"fleetboard/views/ui"
)

func itoa(n int) string { return strconv.Itoa(n) }

// bad is the class of a refused field.
func bad(errs map[string]string, field string) string {
	if errs[field] != "" {
		return "input-bad"
	}
	return ""
}

// described ties a field to its error and its hint.
func described(errs map[string]string, field, hint string) templ.Attributes {
	attrs := templ.Attributes{}
	ids := hint
	if errs[field] != "" {
		attrs["aria-invalid"] = "true"
		if ids != "" {
			ids = " " + ids
		}
		ids = field + "-e" + ids
	}
	if ids != "" {
		attrs["aria-describedby"] = ids
	}
	return attrs
}

// describedBy ties a field to its error and its hint by the field's own id.
func describedBy(id, hint, err string) templ.Attributes {
	if hint != "" {
		hint = id + "-h"
	}
	return described(map[string]string{id: err}, id, hint)
}

// seat is one mark of the field behind the log-in card.
type seat struct{ class, x, y string }

// seats lays out 48 by 10 seats; a few are taken, more of them at the bottom.
// The pattern is always the same.
func seats() []seat {
	const cols, rows = 48, 10
	out := make([]seat, 0, cols*rows)
	state := uint32(0x9e3779b9)
	for c := range cols {
		for r := range rows {
			state = state*1664525 + 1013904223
			class := "lf-c"
			if pick := state >> 24; pick < uint32(6+5*r) {
				class = "lf-b"
				if pick%3 == 0 {
					class = "lf-a"
				}
			}
			out = append(out, seat{class, itoa(c * 30), itoa(r * 34)})
		}
	}
	return out
}

// errorWords are the sentences of a refused request, by HTTP status.
var errorWords = map[int][2]string{
	403: {"This is not yours to do", "Your role in this workspace does not allow it. An owner can change that."},
	404: {"There is nothing here", "It was never here, it has gone, or it belongs to another workspace."},
	405: {"This cannot be done here", "The address exists, but not for what was asked of it."},
	409: {"This has changed meanwhile", "Somebody or something was faster. Look at the newest state, then try again."},
	413: {"That is too much at once", "What was sent is larger than a form may be. Nothing was kept."},
	422: {"This cannot be taken", "Something in it is not right. Nothing was changed."},
	429: {"Too many tries", "Wait a little, then try again."},
	500: {"Something broke on our side", "Nothing was changed by this request. Name the request when you ask for help."},
	503: {"The server is not ready", "It is starting, or it cannot reach its database. Try again in a moment."},
}

func (m ErrorPage) words() [2]string {
	if w, ok := errorWords[m.Code]; ok {
		return w
	}
	if m.Code >= 400 && m.Code < 500 {
		return errorWords[422]
	}
	return errorWords[500]
}

func (m ErrorPage) title() string {
	if m.Title != "" {
		return ui.Clean(m.Title)
	}
	return m.words()[0]
}

func (m ErrorPage) message() string {
	if m.Message != "" {
		return ui.Clean(m.Message)
	}
	return m.words()[1]
}

func (m ErrorPage) backURL() string {
	if m.BackURL != "" {
		return m.BackURL
	}
	return links.Board
}

func (m ErrorPage) backLabel() string {
	if m.BackLabel != "" {
		return m.BackLabel
	}
	return "Back to the board"
}

// shell is the shell with the error's title.
func (m ErrorPage) shell() Shell {
	s := *m.Shell
	s.Title = m.title()
	return s
}
