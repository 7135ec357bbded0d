package history

import (
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// factWords say what happened, for facts that are told by their payload alone.
var factWords = map[eventlog.Type]func(said func(string) string, payload map[string]any) ui.Sentence{
	eventlog.JobRanked:    func(said func(string) string, _ map[string]any) ui.Sentence { return rankText(said) },
	eventlog.JobCommented: commentText, eventlog.JobCommentEdited: commentText, eventlog.JobCommentResolved: commentText,
	eventlog.JobCommentReopened: commentText,
	eventlog.JobCommentsAnswered: func(_ func(string) string, payload map[string]any) ui.Sentence {
		return ui.Text(web.Plural(toNumber(payload["count"]), "comment", "comments"))
	},
	eventlog.JobRejected: rejectText,
	eventlog.LogLost: func(said func(string) string, payload map[string]any) ui.Sentence {
		return lossText(said("detail"), payload)
	},
}

// lossText says what the database lacks, "3 events are missing, from 1201 to 1203, of FB-12, FB-13".
func lossText(detail string, payload map[string]any) ui.Sentence {
	if detail != "" {
		return ui.Text(detail)
	}
	text := web.Plural(toNumber(payload["events"]), "event is", "events are") + " missing, from " +
		strconv.Itoa(toNumber(payload["first"])) + " to " + strconv.Itoa(toNumber(payload["last"]))
	list, _ := payload["jobs"].([]any) // absent where none is known by its key
	var keys []string
	for _, key := range list {
		if text, ok := key.(string); ok {
			keys = append(keys, text)
		}
	}
	if len(keys) > 0 {
		text += ", of " + strings.Join(keys, ", ")
	}
	return ui.Text(text)
}

// collisionText is "FB-137: internal/db/tx.go, go.mod". The other job is not named where it is of
// another product.
func collisionText(key string, payload map[string]any) ui.Sentence {
	text := ui.Text("a job of another product")
	if key != "" {
		text = ui.Say(ui.Link(key, links.Job(key)))
	}
	paths, _ := payload["paths"].([]any)
	for i, path := range paths {
		text = append(text, ui.T(map[bool]string{true: ": ", false: ", "}[i == 0]), ui.Name(web.FirstLine(toText(path), web.MaxQuote)))
	}
	if more := toNumber(payload["more"]); more > 0 {
		text = append(text, ui.T(" and "+web.Plural(more, "file", "files")+" more"))
	}
	return text
}
