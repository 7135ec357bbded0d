package job

// Placement is why the factory of the last attempt got the job, and how the others did.
type Placement struct {
	Text string
	Rows []PlacementRow // the best first
}

// PlacementRow is one factory.
type PlacementRow struct {
	ID, Factory, Score, Why string
	Chosen                  bool
	Parts                   []string // what the score is made of
}
