package board

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/screens"
	view "github.com/fleetboard/fleetboard/views/board"
)

// digest names what a card shows, but for what the browser keeps fresh by itself.
func digest(c view.Card) (d view.Digest) {
	if c.Reason != nil {
		d.Reason = sum(c.Reason)
		c.Reason = nil
	}
	d.Rest = sum(c)
	return d
}

func sum(shown any) [sha256.Size]byte {
	text, err := json.Marshal(shown)
	if err != nil {
		panic("board: a card has a field that is not to be written: " + err.Error())
	}
	return sha256.Sum256(text)
}

// shown names what a column shows: what stands around its cards, with their order, and each card.
type shown struct {
	frame [sha256.Size]byte
	cards map[string]view.Digest
}

func shownBy(c view.Column) shown {
	text, cards := []string{c.Count, c.Sub, c.Spent, c.MoreURL, c.Empty.Title, c.Empty.Text}, map[string]view.Digest{}
	for _, g := range c.Groups {
		text = append(text, g.Name)
		for _, card := range g.Cards {
			text = append(text, card.Key)
			cards[card.Key] = card.Digest
		}
	}
	return shown{sha256.Sum256([]byte(strings.Join(text, "\n"))), cards}
}

func (s shown) equal(o shown) bool { return s.frame == o.frame && maps.Equal(s.cards, o.cards) }

// note takes a card that was sent by itself for the last of its column.
func (s shown) note(card view.Card) {
	if _, known := s.cards[card.Key]; known {
		s.cards[card.Key] = card.Digest
	}
}

// sentCards are the cards that the readers of a stream have, by column and key. A reader whose
// page shows another one sees that by the digest, and fetches it.
type sentCards map[string]map[string]view.Digest

// column returns what of a column is new to the readers, the other cards as empty places, and
// notes it.
func (s sentCards) column(c view.Column) view.Column {
	before, now := s[c.Name], map[string]view.Digest{}
	c = thinned(c, func(card view.Card) view.Card {
		had, has := before[card.Key], card.Digest
		now[card.Key] = has
		switch {
		case had == has:
			return place(card)
		case had.Rest == has.Rest && had.HasReason() && has.HasReason():
			p := place(card)
			p.Was, p.Reason = had, card.Reason
			return p
		}
		return card
	})
	s[c.Name] = now
	return c
}

// note takes a card that was sent by itself for the last of its column.
func (s sentCards) note(card view.Card) {
	if _, known := s[card.Column][card.Key]; known {
		s[card.Column][card.Key] = card.Digest
	}
}

// has reports whether a column that was sent shows a job.
func (s sentCards) has(key string) bool {
	for _, cards := range s {
		if _, shown := cards[key]; shown {
			return true
		}
	}
	return false
}

// sinceThen returns what of a column may be new to a reader who has missed an update: the cards
// of jobs that changed, and as many at the end of its page, which moved up into it. Where
// everything is shown, nothing moves up into a page that is not full.
func sinceThen(c view.Column, page screens.ColumnPage, filtered bool, u *screens.Update) view.Column {
	end := len(page.Cards)
	if !filtered && page.Next == "" {
		end = screens.PageSize
	}
	fresh := map[string]bool{}
	for _, k := range page.Cards[min(max(end-len(u.Changed), 0), len(page.Cards)):] {
		fresh[k.Job.Key] = true
	}
	for _, ref := range u.Changed {
		fresh[ref.Key] = true
	}
	for _, k := range u.Cards {
		fresh[k.Job.Key] = true
	}
	return thinned(c, func(card view.Card) view.Card {
		if fresh[card.Key] {
			return card
		}
		return place(card)
	})
}

// place is a card that stays as the reader has it.
func place(c view.Card) view.Card { return view.Card{Key: c.Key, Digest: c.Digest, Same: true} }

// thinned returns a column with what is to be sent of each card.
func thinned(c view.Column, send func(view.Card) view.Card) view.Column {
	groups := make([]view.CardGroup, len(c.Groups))
	for i, g := range c.Groups {
		groups[i] = view.CardGroup{Name: g.Name, Cards: slices.Clone(g.Cards)}
		for k, card := range g.Cards {
			groups[i].Cards[k] = send(card)
		}
	}
	c.Groups = groups
	return c
}
