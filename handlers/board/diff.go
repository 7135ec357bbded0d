package board

import (
	"context"
	"io"
	"reflect"
	"time"

	"github.com/fleetboard/fleetboard/handlers/live"
	view "github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/ui"
)

// columnDiff is a column in a live message. A subscriber that is up to date
// receives unchanged cards as empty placeholders; the browser keeps the card it
// already shows.
type columnDiff struct{ all, changed view.Column }

// Column returns the column's name.
func (d columnDiff) Column() string { return d.all.Name }

// Render shows the column, unchanged cards as placeholders where the context says so.
func (d columnDiff) Render(ctx context.Context, out io.Writer) error {
	if live.DiffOnly(ctx) {
		return view.LiveColumn(d.changed).Render(ctx, out)
	}
	return view.LiveColumn(d.all).Render(ctx, out)
}

// sentCards are the cards that were last sent of each column, by key.
type sentCards map[string]map[string]view.Card

// column notes what is sent now, and returns what of it is new.
func (s sentCards) column(c view.Column) columnDiff {
	before, now := s[c.Name], map[string]view.Card{}
	changed := c
	changed.Groups = make([]view.CardGroup, len(c.Groups))
	for i, g := range c.Groups {
		changed.Groups[i] = view.CardGroup{Name: g.Name, Cards: make([]view.Card, len(g.Cards))}
		for at, card := range g.Cards {
			old, known := before[card.Key]
			if known && sameCard(old, card) {
				changed.Groups[i].Cards[at] = view.Card{Key: card.Key, Same: true}
			} else {
				changed.Groups[i].Cards[at] = card
			}
			now[card.Key] = card
		}
	}
	s[c.Name] = now
	return columnDiff{all: c, changed: changed}
}

// note takes a card that was sent by itself for the last of its column.
func (s sentCards) note(card view.Card) {
	if _, known := s[card.Column][card.Key]; known {
		s[card.Column][card.Key] = card
	}
}

// sameCard reports whether two cards differ in nothing but what the browser
// keeps fresh by itself.
func sameCard(a, b view.Card) bool {
	for _, card := range []*view.Card{&a, &b} {
		for _, at := range []*ui.When{&card.Progress, &card.Elapsed, &card.Foot, &card.Ended} {
			at.Text, at.At = "", at.At.Round(0).In(time.UTC)
		}
	}
	return reflect.DeepEqual(a, b)
}
