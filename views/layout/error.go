package layout

import (
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

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

// shell returns the shell with the error's title.
func (m ErrorPage) shell() Shell {
	s := *m.Shell
	s.Title = m.title()
	return s
}

// Refusal says what must be otherwise in a field of the request.
type Refusal struct{ Field, Why string }

// ErrorPage is what a refused request shows.
type ErrorPage struct {
	Shell     *Shell // nil when nobody is signed in
	Theme     Theme  // used when Shell is nil
	Code      int    // 404, 403, 409, 500
	Title     string // "" takes the sentence of the code
	Message   string // "" takes the sentence of the code
	Refusals  []Refusal
	RequestID string
	BackURL   string // "" is the board
	BackLabel string // "" is "Back to the board"
}
