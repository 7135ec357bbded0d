package reason

import "github.com/fleetboard/fleetboard/views/ui"

// givesSeat is "Its agent was asked at 12:04 to give the seat to FB-12, which is more urgent".
func (s subject) givesSeat() ui.Sentence {
	text := append(ui.Say(ui.T("Its agent")), s.asked()...)
	text = append(append(text, ui.T(" to give the seat to ")), KeyLinks(s.why.Keys)...)
	return append(text, ui.T(", which is more urgent"))
}

// awaitsSeat is "ada on basalt was asked at 12:04 to give it the seat of FB-7".
func (s subject) awaitsSeat() ui.Sentence {
	text := append(s.onFactories(s.why.By.Name+" on "), s.asked()...)
	text = append(text, ui.T(" to give it the seat of "))
	return append(text, KeyLinks(s.why.Keys)...)
}

// asked is " was asked at 12:04".
func (s subject) asked() []ui.Span {
	if s.why.Since == nil {
		return ui.Say(ui.T(" was asked"))
	}
	return ui.Say(ui.T(" was asked at "), s.at(*s.why.Since))
}
