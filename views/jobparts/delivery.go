package jobparts

import "github.com/fleetboard/fleetboard/views/ui"

// Delivery is what became of the commit of an attempt. The zero value is nothing, and shows
// nothing.
type Delivery struct {
	Word   string // "Pushed", "Refused by the origin"
	Icon   string
	Tone   ui.Tone
	Branch string
	Commit string // short
	Detail string // the origin's own words
	At     ui.When
	// Text is a sentence about what is not where it belongs, empty where it is.
	Text ui.Sentence
}
