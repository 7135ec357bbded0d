package board

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	view "github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

func cardsOf(list ...view.Card) view.Column {
	for i := range list {
		list[i].Digest = digest(list[i])
	}
	return view.Column{Name: "ready", Groups: []view.CardGroup{{Cards: list}}}
}

// whole returns the keys of the cards that are more than a place.
func whole(c view.Column) (keys []string) {
	for _, g := range c.Groups {
		for _, card := range g.Cards {
			if !card.Same {
				keys = append(keys, card.Key)
			}
		}
	}
	return keys
}

// Readers get the cards of a column that they do not have as they are, of the others the places.
func TestAColumnIsShownAsADiff(t *testing.T) {
	sent, at := sentCards{}, time.Now()
	one := view.Card{Key: "FB-1", Title: "Alpha", Column: "ready", Version: 1, Foot: ui.For(at, at)}
	two := view.Card{Key: "FB-2", Title: "Beta", Column: "ready", Version: 1}
	has := func(what string, c view.Column, want ...string) {
		t.Helper()
		if got := whole(sent.column(c)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	has("first", cardsOf(one, two), "FB-1", "FB-2")
	one.Foot = ui.For(at, at.Add(time.Minute)) // the browser counts on by itself
	two.Version = 2
	has("a change", cardsOf(one, two), "FB-2")
	one.Title = "Gamma"
	has("another one", cardsOf(one, two), "FB-1")
	has("one has left", cardsOf(two))
	has("and comes back", cardsOf(one, two), "FB-1")
	one.Reason = &jobparts.Reason{Text: ui.Say(ui.Moment(ui.In(at.Add(time.Hour), at)))}
	has("a time", cardsOf(one, two), "FB-1")
	one.Reason = &jobparts.Reason{Text: ui.Say(ui.Moment(ui.In(at.Add(time.Hour), at.Add(time.Minute))))}
	has("the same time", cardsOf(one, two))
	one.Reason = nil
	has("none", cardsOf(one, two), "FB-1")
	one.Reason = &jobparts.Reason{Text: ui.Text("2 seats free on linux-2")}
	has("a reason", cardsOf(one, two), "FB-1")
	one.Reason = &jobparts.Reason{Text: ui.Text("1 seat free on linux-2")}
	was := sent["ready"]["FB-1"]
	c := sent.column(cardsOf(one, two))
	if got := c.Groups[0].Cards[0]; !got.Same || got.Was != was || got.Reason != one.Reason || got.Digest == was {
		t.Errorf("another reason is sent as %+v", got)
	}
	one.Version = 3
	c = cardsOf(one, two)
	sent.note(c.Groups[0].Cards[0])
	has("sent by itself", c)
}

// pageOf returns a page of a column as it was read.
func pageOf(next string, keys ...string) screens.ColumnPage {
	page := screens.ColumnPage{Column: screens.Ready, Next: next}
	for _, key := range keys {
		page.Cards = append(page.Cards, screens.Card{Job: jobs.Job{Key: key}})
	}
	return page
}

// Who has missed that many left a column gets the cards that came from behind "Show more",
// also where nothing is behind it any more, and whether or not the page is full.
func TestWhatMovedUpIntoAColumnIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		now, left int
		next      string
		filtered  bool
		want      int
	}{
		"still more":                         {now: screens.PageSize, left: 3, next: "x", want: 3},
		"just full":                          {now: screens.PageSize - 1, left: 3, want: 2},
		"no more":                            {now: screens.PageSize - 3, left: 3},
		"never was full":                     {now: 5, left: 3},
		"nothing is there":                   {left: 3},
		"all moved up":                       {now: screens.PageSize, left: 200, next: "x", want: screens.PageSize},
		"some jobs were looked at":           {now: 5, left: 3, next: "x", filtered: true, want: 3},
		"the last jobs were looked at":       {now: 5, left: 3, filtered: true, want: 3},
		"few jobs pass, more than that left": {now: 2, left: 3, filtered: true, want: 2},
	} {
		u := &screens.Update{}
		for i := range c.left {
			u.Changed = append(u.Changed, screens.Ref{Key: fmt.Sprint("LEFT-", i)})
		}
		var list []view.Card
		var keys []string
		for i := range c.now {
			keys = append(keys, fmt.Sprint("FB-", i))
			list = append(list, view.Card{Key: keys[i], Column: "ready"})
		}
		if got := whole(sinceThen(cardsOf(list...), pageOf(c.next, keys...), c.filtered, u)); !slices.Equal(got, keys[c.now-c.want:]) {
			t.Errorf("%s: %v are sent whole; want the last %d", name, got, c.want)
		}
	}
}

// The last cards of a page are those of its order, however they are grouped.
func TestWhatMovedUpIsSentInWhateverGroup(t *testing.T) {
	page := pageOf("x")
	var groups [2]view.CardGroup
	for i := range screens.PageSize {
		key := fmt.Sprint("FB-", i)
		page.Cards = append(page.Cards, screens.Card{Job: jobs.Job{Key: key}})
		groups[i%2].Cards = append(groups[i%2].Cards, view.Card{Key: key, Column: "ready"})
	}
	u := &screens.Update{Changed: []screens.Ref{{Key: "LEFT-1"}, {Key: "LEFT-2"}}}
	got := whole(sinceThen(view.Column{Name: "ready", Groups: groups[:]}, page, false, u))
	if want := []string{"FB-48", "FB-49"}; !slices.Equal(got, want) {
		t.Errorf("%v are sent whole; want %v", got, want)
	}
}

// A page has a digest in short. A change is sent all the same where that of the card before is
// like it.
func TestAChangeIsSentWhateverItsShortDigest(t *testing.T) {
	before, at := map[string]view.Card{}, view.Card{Key: "FB-1", Column: "ready"}
	for {
		at.Priority++
		short := digest(at).String()
		if was, known := before[short]; known {
			sent := sentCards{}
			sent.column(cardsOf(was))
			if got := whole(sent.column(cardsOf(at))); !slices.Equal(got, []string{"FB-1"}) {
				t.Errorf("priority %d after %d sends %v", at.Priority, was.Priority, got)
			}
			return
		}
		before[short] = at
	}
}

// Whoever catches up gets the cards of jobs that changed.
func TestWhoCatchesUpGetsWhatChanged(t *testing.T) {
	cards := make([]view.Card, 5)
	for i := range cards {
		cards[i] = view.Card{Key: string(rune('A' + i)), Column: "ready"}
	}
	u := &screens.Update{Changed: []screens.Ref{{Key: "B"}, {Key: "Z"}}, Cards: []screens.Card{{Job: jobs.Job{Key: "C"}}}}
	if got, want := whole(sinceThen(cardsOf(cards...), pageOf("", "A", "B", "C", "D", "E"), false, u)), []string{"B", "C"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A digest covers all that a card shows: it has no field that is not written.
func TestADigestCoversTheWholeCard(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(of reflect.Type, path string)
	look = func(of reflect.Type, path string) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(of.Elem(), path)
		case reflect.Struct:
			if seen[of] || of == reflect.TypeFor[time.Time]() {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				f := of.Field(i)
				if !f.IsExported() {
					t.Errorf("%s.%s is not in a card's digest", path, f.Name)
				}
				look(f.Type, path+"."+f.Name)
			}
		}
	}
	look(reflect.TypeFor[view.Card](), "Card")
}
