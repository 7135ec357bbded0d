package fulltext

import (
	"strconv"
	"strings"
)

const (
	// maxPlace is the last place that a tsvector keeps distinct, maxPlaces how many
	// it keeps of a word, and maxVector a size below what it holds, in bytes.
	maxPlace  = 1<<14 - 2
	maxPlaces = 255
	maxVector = 768 << 10
	// between is how far the words of one text are from those of the next, so that nothing
	// stands together that stands in two of them.
	between = 8
)

// Weight is how much a word counts that was found: 'A' the most, 'D' the least.
type Weight byte

// Vector are the words of the texts that a row is found by, with their places. Its zero value
// is empty.
type Vector struct {
	places map[string]*strings.Builder
	counts map[string]int
	order  []string
	at     int
	size   int
}

// Add adds the words of a text. Behind more words than a tsvector can distinguish they are
// found one by one and not together; behind 768 KB of them nothing is kept.
func (v *Vector) Add(weight Weight, text string) {
	if v.places == nil {
		v.places, v.counts = map[string]*strings.Builder{}, map[string]int{}
	}
	for w := range Words(text) {
		if v.size += 4; v.size > maxVector {
			return
		}
		v.at++
		list := v.places[w.Text]
		if list == nil {
			list = &strings.Builder{}
			v.places[w.Text], v.order = list, append(v.order, w.Text)
			v.size += len(w.Text) + 4
		}
		if v.counts[w.Text]++; v.counts[w.Text] > maxPlaces || v.at > maxPlace && v.counts[w.Text] > 1 {
			continue
		}
		if list.Len() > 0 {
			list.WriteByte(',')
		}
		// Two places behind the last are never beside one another.
		list.WriteString(strconv.Itoa(min(v.at, maxPlace)))
		list.WriteByte(byte(weight))
	}
	v.at += between
}

// String is v as PostgreSQL reads a tsvector.
func (v *Vector) String() string {
	var b strings.Builder
	for _, w := range v.order {
		b.WriteString("'" + w + "':") // words have no quotes
		b.WriteString(v.places[w].String())
		b.WriteByte(' ')
	}
	return b.String()
}
