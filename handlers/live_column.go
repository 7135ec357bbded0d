package handlers

import (
	"context"
	"io"
	"reflect"
	"time"

	"fleetboard/views"
	"fleetboard/views/ui"
)

// wholeColumn is a column in a live message. Whoever has what was last sent of it
// gets its cards that are the same still as empty places: the browser leaves the
// card that stands there as it is.
type wholeColumn struct{ all, brief views.Column }

type briefly struct{}

// Render shows the column, in brief where the context asks for it.
func (w wholeColumn) Render(ctx context.Context, out io.Writer) error {
	if ctx.Value(briefly{}) != nil {
		return views.LiveColumn(w.brief).Render(ctx, out)
	}
	return views.LiveColumn(w.all).Render(ctx, out)
}

// inBrief asks for columns in brief.
func inBrief(ctx context.Context) context.Context { return context.WithValue(ctx, briefly{}, true) }

// sentCards are the cards that were last sent of each column, by key.
type sentCards map[string]map[string]views.Card

// column notes what is sent now, and tells what of it is new.
func (s sentCards) column(c views.Column) wholeColumn {
	before, now := s[c.Name], map[string]views.Card{}
	brief := c
	brief.Groups = make([]views.CardGroup, len(c.Groups))
	for i, g := range c.Groups {
		brief.Groups[i] = views.CardGroup{Name: g.Name, Cards: make([]views.Card, len(g.Cards))}
		for at, card := range g.Cards {
			old, known := before[card.Key]
			if known && sameCard(old, card) {
				brief.Groups[i].Cards[at] = views.Card{Key: card.Key, Same: true}
			} else {
				brief.Groups[i].Cards[at] = card
			}
			now[card.Key] = card
		}
	}
	s[c.Name] = now
	return wholeColumn{all: c, brief: brief}
}

// note takes a card that was sent by itself for the last of its column.
func (s sentCards) note(card views.Card) {
	if _, known := s[card.Column][card.Key]; known {
		s[card.Column][card.Key] = card
	}
}

// sameCard reports whether two cards differ in nothing but what the browser
// keeps fresh by itself.
func sameCard(a, b views.Card) bool {
	for _, card := range []*views.Card{&a, &b} {
		for _, at := range []*ui.When{&card.Progress, &card.Elapsed, &card.Foot, &card.Ended} {
			at.Text, at.At = "", at.At.Round(0).In(time.UTC)
		}
	}
	return reflect.DeepEqual(a, b)
}
