package claim

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Whatever the weights, and however many jobs are taken at once, products that have ready jobs
// all the time are never further apart than a turn of each.
func TestProductsAreGivenByTheirWeights(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, workspace := newStrides(), ids.New()
		var list []competitor
		for _, weight := range rapid.SliceOfN(rapid.IntRange(1, 100), 2, 8).Draw(t, "weights") {
			list = append(list, competitor{ids.New(), weight})
		}
		given := make([]float64, len(list))
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			n := rapid.IntRange(1, 100).Draw(t, "n")
			total := 0
			for i, jobs := range s.plan(workspace, 5, list, n) {
				back := 0
				if jobs > 0 && rapid.Bool().Draw(t, "another claim has one") {
					back = 1
				}
				s.takeBack(workspace, 5, list[i], back)
				given[i] += float64(jobs - back)
				total += jobs
			}
			if total != n {
				t.Fatalf("%d jobs of %d", total, n)
			}
		}
		for i, a := range list {
			for j, b := range list {
				apart := math.Abs(given[i]/float64(a.weight) - given[j]/float64(b.weight))
				// What another claim had is taken back after all have had their turns.
				if most := 2/float64(a.weight) + 2/float64(b.weight) + 1e-6; apart > most {
					t.Fatalf("product %d is %.3f turns from %d; at most %.3f: %v of %v", i, apart, j, most, given, list)
				}
			}
		}
	})
}

// A product that had no ready jobs comes back at the present turn, whatever the others were
// given meanwhile; one that nobody could take is behind by a bounded number of turns.
func TestAProductSavesNoTurnsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, workspace := newStrides(), ids.New()
		a, b, c := competitor{ids.New(), 1}, competitor{ids.New(), 1}, competitor{ids.New(), rapid.IntRange(1, 10).Draw(t, "weight")}
		s.plan(workspace, 5, []competitor{a, b, c}, rapid.IntRange(1, 50).Draw(t, "before"))
		idle := rapid.Bool().Draw(t, "idle")
		if idle {
			s.forgetIdle(workspace, func(p ids.ID) (int, bool) { return 5, p != c.product }, func(ids.ID) bool { return true })
		}
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			s.plan(workspace, 5, []competitor{a, b}, rapid.IntRange(1, 100).Draw(t, "n"))
		}
		most := maxBehind*c.weight + c.weight + 1
		if idle {
			most = c.weight + 1
		}
		if row := s.plan(workspace, 5, []competitor{a, b, c}, 500); row[2] > most+500*c.weight/(c.weight+2)+1 {
			t.Fatalf("it was given %d of 500, %d more than its share", row[2], row[2]-500*c.weight/(c.weight+2))
		}
	})
}

// One product alone leaves nothing behind, and one that only part of which a claim sees stays.
func TestPassesAreFewAndStayWhereTheyMust(t *testing.T) {
	t.Parallel()
	s, workspace := newStrides(), ids.New()
	a, b := competitor{ids.New(), 1}, competitor{ids.New(), 1}
	if got := s.plan(workspace, 5, []competitor{a}, 7); got[0] != 7 || s.known.Len() != 0 {
		t.Errorf("alone: %v, %d kept", got, s.known.Len())
	}
	s.plan(workspace, 5, []competitor{a, b}, 3)
	never := func(ids.ID) (int, bool) { return 0, false }
	s.forgetIdle(workspace, never, func(p ids.ID) bool { return p == a.product })
	if of, _ := s.known.Get(workspace); len(of[5]) != 1 {
		t.Errorf("kept %v; want b's, of which there may be jobs in a lane that was not seen", of)
	}
	s.forgetIdle(workspace, never, func(ids.ID) bool { return true })
	if of, _ := s.known.Get(workspace); len(of) != 0 {
		t.Errorf("kept %v", of)
	}
}
