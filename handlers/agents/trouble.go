package agents

import (
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	view "github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/ui"
)

// maxTroubles bounds the lines about one factory; `fleet factory show` has all.
const maxTroubles = 6

// maxQuote is how much of a host's words a line has, in characters.
const maxQuote = 240

// troubles returns what a factory does not offer though it could, and what it has moved aside, the
// latter for a person to remove.
func troubles(f fleet.Factory, now time.Time) (list []view.Trouble, more string) {
	for _, u := range f.Unavailable {
		list = append(list, view.Trouble{Icon: "triangle-alert", Text: unavailableText(u, now)})
	}
	for _, r := range f.Rescued {
		list = append(list, view.Trouble{Icon: "archive", Text: rescuedText(r, now)})
	}
	if n := len(list) - maxTroubles; n > 0 {
		list, more = list[:maxTroubles], "And "+strconv.Itoa(n)+" more, which fleet factory show lists."
	}
	return list, more
}

// unavailableText is "claude has not been offered for 4m: Invalid API key. It is tried again by itself."
func unavailableText(u fleet.Unavailable, now time.Time) ui.Sentence {
	text := ui.Say(ui.Strong(u.Name), ui.T(" has not been offered for "), ui.Moment(ui.For(past(u.Since, now), now)), ui.T(": "))
	if u.Kind == fleet.UnavailableRepo {
		text = append(ui.Say(ui.T("The repo ")), text...)
	}
	return append(text, ui.T(sentence(u.Reason)+" It is tried again by itself."))
}

// rescuedText says where work lies that could not be saved otherwise, and who removes it.
func rescuedText(r fleet.Rescued, now time.Time) ui.Sentence {
	text := ui.Say(ui.T("Work that could not be saved was moved aside "),
		ui.Moment(ui.Ago(past(r.Since, now), now)), ui.T(": "+r.Path+". "))
	if r.Why != "" {
		text = append(text, ui.T(sentence(r.Why)+" "))
	}
	return append(text, ui.T("When you have looked at it: "), ui.Strong("fleet worker rescue remove "+r.Name))
}

// past returns a time by a host's clock, which may be ahead of ours.
func past(at, now time.Time) time.Time {
	if at.After(now) {
		return now
	}
	return at
}

// sentence returns the first line of a text, with its full stop.
func sentence(text string) string {
	line := web.FirstLine(text, maxQuote)
	if line == "" {
		return "It does not say why."
	}
	switch line[len(line)-1] {
	case '.', '!', '?':
		return line
	}
	return line + "."
}
