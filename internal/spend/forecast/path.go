package forecast

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
)

const (
	// futures is how many are drawn.
	futures = 200
	// seed makes the draws the same for every input, so that a projection moves only
	// when its input does.
	seed = 0x466c656574626f61
)

// never is when a future that does not run out does.
const never = time.Duration(math.MaxInt64)

// path is one future: blocks in their order, up to the horizon.
type path struct {
	blocks []block
	draws  []int
}

// paths returns the futures that are made of the blocks and go as far as sight. Each is
// good until the next one.
func paths(blocks []block, sight time.Duration) iter.Seq[path] {
	return func(yield func(path) bool) {
		if len(blocks) == 0 {
			return
		}
		random := rand.New(rand.NewPCG(seed, seed))
		up := make([]float64, len(blocks))
		p := path{blocks: blocks, draws: make([]int, sight/blocks[0].length())}
		for range futures {
			var total float64
			for i := range up {
				total += random.ExpFloat64()
				up[i] = total
			}
			for i := range p.draws {
				at, _ := slices.BinarySearch(up, random.Float64()*total)
				p.draws[i] = min(at, len(up)-1)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// runsOut is after how long the free money is gone.
func (p path) runsOut(free spend.Nanos) time.Duration {
	var passed time.Duration
	for _, draw := range p.draws {
		b := p.blocks[draw]
		if b.sum < free {
			free -= b.sum
			passed += b.length()
			continue
		}
		for _, spent := range b.hours {
			if spent >= free {
				return passed + time.Duration(math.Ceil(float64(time.Hour)*(float64(free)/float64(spent))))
			}
			free -= spent
			passed += time.Hour
		}
	}
	return never
}

// Step is what will have been spent from now on up to an instant.
type Step struct {
	At  time.Time
	P50 spend.Nanos
	P90 spend.Nanos
}

// Fan returns what the futures spend up to the end of the period, day by day (hour by hour
// where the history is short): half of them at most P50, nine tenths at most P90. It
// ends where the history allows no more, and is empty where it allows nothing.
func Fan(in Input) []Step {
	blocks, sight := newCurve(in).blocks()
	if len(blocks) == 0 {
		return nil
	}
	length := blocks[0].length()
	steps := int((min(sight, max(until(in).Sub(in.Now), 0)) + length - 1) / length)
	spent := make([][]spend.Nanos, steps)
	for p := range paths(blocks, sight) {
		var total spend.Nanos
		for i := range steps {
			total = plus(total, p.blocks[p.draws[i]].sum)
			spent[i] = append(spent[i], total)
		}
	}
	fan := make([]Step, 0, steps+1)
	fan = append(fan, Step{At: in.Now})
	for i, all := range spent {
		slices.Sort(all)
		fan = append(fan, Step{At: in.Now.Add(time.Duration(i+1) * length), P50: all[len(all)/2-1], P90: all[len(all)*9/10-1]})
	}
	return fan
}
