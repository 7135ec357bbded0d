package patches

// maxEdits bounds how different two texts may be that are aligned: beyond it only what is alike at their ends is
// found. The time is bounded by their length times this, the memory by its square.
const maxEdits = 1500

// Align finds what two lists have in common, in their order: for each item of a the index of the same one in b, or
// -1. It is the shortest edit of Myers's "An O(ND) Difference Algorithm" where that has at most maxEdits steps.
func Align[T comparable](a, b []T) []int {
	at := make([]int, len(a))
	for i := range at {
		at[i] = -1
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		at[head] = head
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		at[len(a)-1-tail] = len(b) - 1 - tail
		tail++
	}
	for _, pair := range findCommon(a[head:len(a)-tail], b[head:len(b)-tail]) {
		at[head+pair[0]] = head + pair[1]
	}
	return at
}

// findCommon returns the pairs of equal items on the shortest way from a to b; none where it is too long.
func findCommon[T comparable](a, b []T) [][2]int {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	most := min(len(a)+len(b), maxEdits)
	reached := make([]int, 2*most+2) // by diagonal: how far along a
	var trace [][]int
	for edits := 0; edits <= most; edits++ {
		trace = append(trace, append([]int(nil), reached[most-edits:most+edits+1]...))
		for k := -edits; k <= edits; k += 2 {
			x := nextX(reached, most, k, edits)
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			reached[most+k] = x
			if x >= len(a) && y >= len(b) {
				return walkBack(a, b, trace, edits)
			}
		}
	}
	return nil
}

// nextX returns where an edit leads on a diagonal: down from the one above, or right from the one below.
func nextX(reached []int, zero, k, edits int) int {
	if edits == 0 {
		return 0
	}
	if k == -edits || k != edits && reached[zero+k-1] < reached[zero+k+1] {
		return reached[zero+k+1]
	}
	return reached[zero+k-1] + 1
}

// walkBack collects the equal items from the end of the way to its beginning.
func walkBack[T comparable](a, b []T, trace [][]int, edits int) (pairs [][2]int) {
	x, y := len(a), len(b)
	for ; edits > 0; edits-- {
		reached, k := trace[edits], x-y
		before := k - 1
		if k == -edits || k != edits && reached[edits+k-1] < reached[edits+k+1] {
			before = k + 1
		}
		fromX := reached[edits+before]
		fromY := fromX - before
		for x > fromX && y > fromY && x > 0 && y > 0 && a[x-1] == b[y-1] {
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{x, y})
		}
		x, y = fromX, fromY
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		pairs = append(pairs, [2]int{x, y})
	}
	return pairs
}
