package history

import (
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/views/ui"
)

// commentText names the line that a comment is about: "on internal/a.go:12", "in reply, on internal/a.go".
func commentText(said func(string) string, payload map[string]any) ui.Sentence {
	place := said("path")
	if line := toNumber(payload["line"]); line > 0 {
		place += ":" + strconv.Itoa(line)
	}
	if said("in_reply_to") != "" {
		return ui.Say(ui.T("in reply, on "), ui.Key(place))
	}
	return ui.Say(ui.T("on "), ui.Key(place))
}

// rejectText returns why work was sent back, and with how many comments.
func rejectText(said func(string) string, payload map[string]any) ui.Sentence {
	text := ui.Text(said("reason"))
	if n := toNumber(payload["comments"]); n > 0 {
		text = append(text, ui.T(" (with "+web.Plural(n, "comment", "comments")+")"))
	}
	return text
}
