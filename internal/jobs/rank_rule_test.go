package jobs

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// However jobs are put between others, each stands between them, and no rank is the beginning of another.
func TestRanksLieBetweenTheirNeighbours(t *testing.T) {
	ranks := make([][]byte, 0, 3000)
	for range 20 {
		id := ids.New()
		ranks = append(ranks, id[:])
	}
	slices.SortFunc(ranks, bytes.Compare)
	for n := range cap(ranks) - len(ranks) {
		at := rand.IntN(len(ranks) + 1)
		if n%3 > 0 {
			at = []int{0, 7}[n%2] // always into the same gap
		}
		var low, high []byte
		if at > 0 {
			low = ranks[at-1]
		}
		if at < len(ranks) {
			high = ranks[at]
		}
		id := ids.New()
		rank := append(between(low, high), id[:]...)
		if bytes.Compare(rank, low) <= 0 || high != nil && (bytes.Compare(rank, high) >= 0 || bytes.HasPrefix(high, rank)) {
			t.Fatalf("%x does not lie between %x and %x", rank, low, high)
		}
		if len(rank) > maxRank {
			t.Fatalf("rank %d has %d bytes", n, len(rank))
		}
		ranks = slices.Insert(ranks, at, rank)
	}
}
