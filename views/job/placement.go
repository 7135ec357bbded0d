package job

import "github.com/fleetboard/fleetboard/views/ui"

// Placement is why the factory of the last attempt got the job, how the others did, and which were told
// of it in vain.
type Placement struct {
	Text string         // "" where nobody has claimed it
	Rows []PlacementRow // the best first
	Dead []DeadOffer    // the newest first
}

// DeadOffer is an offer that a factory did not take.
type DeadOffer struct {
	Text string
	At   ui.When
}

// PlacementRow is one factory.
type PlacementRow struct {
	ID, Factory, Score, Why string
	Chosen                  bool
	Parts                   []string // what the score is made of
}
