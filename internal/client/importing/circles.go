package importing

import "slices"

// breakCircles leaves out dependencies that lead back to their job. The same file has the
// same ones left out each time.
func breakCircles(steps []Step) {
	at := map[string]int{}
	for i, s := range steps {
		at[s.Key] = i
	}
	const open, closed = 1, 2
	state := make([]int, len(steps))
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		s := &steps[i]
		s.needs = slices.DeleteFunc(s.needs, func(key string) bool {
			to, listed := at[key]
			if listed && state[to] == 0 {
				visit(to)
			}
			if listed && state[to] == open {
				s.noteNew("does not wait for %s, which waits for it", steps[to].Source)
				return true
			}
			return false
		})
		state[i] = closed
	}
	for i := range steps {
		if state[i] == 0 {
			visit(i)
		}
	}
}
