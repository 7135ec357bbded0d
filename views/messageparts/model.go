// Package messageparts shows messages as several pages do: as plain blocks, and as the
// passage that a search found.
package messageparts

import "github.com/fleetboard/fleetboard/views/ui"

// Block is a message.
type Block struct {
	ID       string // in the page
	URL      string // its place in its thread
	From, To string
	Icon     string // of the sender
	Who      string // "Agent": what the sender is
	Type     string
	At       ui.When
	Text     string
	JSON     string // what the payload says beside the text
	// BlobURL is the download of a payload that is kept apart, "" where there is none.
	BlobURL, BlobSize string
}

// Piece is a part of a passage.
type Piece struct {
	Text string
	Hit  bool // it was looked for
}
