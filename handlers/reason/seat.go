package reason

import "github.com/fleetboard/fleetboard/views/ui"

// givesSeat is "Its agent is asked since 12:04 to give the seat to FB-12, which is more urgent".
func (s subject) givesSeat() ui.Sentence {
	text := append(ui.Say(ui.T("Its agent is asked")), s.since()...)
	text = append(append(text, ui.T(" to give the seat to ")), KeyLinks(s.why.Keys)...)
	return append(text, ui.T(", which is more urgent"))
}

// awaitsSeat is "ada on basalt is asked since 12:04 to give it the seat of FB-7".
func (s subject) awaitsSeat() ui.Sentence {
	text := append(s.onFactories(s.why.By.Name+" on "), ui.T(" is asked"))
	text = append(append(text, s.since()...), ui.T(" to give it the seat of "))
	return append(text, KeyLinks(s.why.Keys)...)
}

// since is " since 12:04", nothing where that is not known.
func (s subject) since() []ui.Span {
	if s.why.Since == nil {
		return nil
	}
	return []ui.Span{ui.T(" since "), s.at(*s.why.Since)}
}
