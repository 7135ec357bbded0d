package estimates

// Ask is what an estimate goes by.
type Ask struct {
	Kind       string
	Repo       string
	Complexity int  // 1 to 5; 0 is not said
	Minutes    int  // that somebody expects it to take; 0 is not said
	Priority   int  // 0 to 10
	Wanted     Tier // by a person; "" leaves it to the estimate
}

// The steps of complexity.
const (
	unsaid      = 0
	trivial     = 1
	middling    = 3
	hardest     = 5
	urgent      = 9 // the priority from which on a job is critical
	boilerplate = "boilerplate"
)

// minutesUpTo are the most minutes of each step of complexity but the last.
var minutesUpTo = [...]int{15, 60, 180, 480}

// Step returns the complexity from 1 to 5: as it was said, or else by the expected minutes;
// 0 where neither was said.
func (a Ask) Step() int {
	if a.Complexity != unsaid || a.Minutes == 0 {
		return a.Complexity
	}
	for i, most := range minutesUpTo {
		if a.Minutes <= most {
			return trivial + i
		}
	}
	return hardest
}
