package budgets

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// Whatever the entries of a report took of what was reserved and of what was free, read in whatever
// pages: each is one row with both, in the order in which each line has them, and the rows add up
// to the lines.
func TestRowsOfASettlement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, at := ids.New(), time.Now()
		held := stored{Line: Line{ID: 1, Kind: Settled, From: InUse, To: Consumed, JobID: job, Epoch: 1, At: at}}
		rest := stored{Line: Line{ID: 2, Kind: Settled, From: Free, To: Consumed, JobID: job, Epoch: 1, At: at}}
		want := map[string][2]spend.Nanos{}
		for i := range rapid.IntRange(1, 40).Draw(t, "entries") {
			name, from := fmt.Sprint("m-", i), rapid.IntRange(0, 2).Draw(t, "from")
			one := [2]spend.Nanos{spend.Nanos(rapid.IntRange(1, 9).Draw(t, "held")), spend.Nanos(rapid.IntRange(1, 9).Draw(t, "free"))}
			if from != 1 {
				held.Money += one[0]
				held.entries = append(held.entries, share{entry: name, Amounts: Amounts{Money: one[0]}})
			} else {
				one[0] = 0
			}
			if from != 0 {
				rest.Money += one[1]
				rest.entries = append(rest.entries, share{entry: name, Amounts: Amounts{Money: one[1]}})
			} else {
				one[1] = 0
			}
			want[name] = one
		}
		var lines []stored
		for _, l := range []stored{rest, held} {
			if len(l.entries) > 0 {
				lines = append(lines, l)
			}
		}
		var rows []Row
		for cursor, limit := (RowCursor{line: 9}), rapid.IntRange(1, 50).Draw(t, "limit"); cursor.line > 0; {
			list, next, err := newRowReader(cursor.line, fetchFrom(lines)).read(cursor, limit)
			if err != nil || len(list) == 0 || len(list) > limit {
				t.Fatal(list, err)
			}
			rows, cursor = append(rows, list...), next
		}
		slices.Reverse(rows)
		all, taken := held.Money+rest.Money, Amounts{}
		var inHeld, inRest []string
		for _, r := range rows {
			if r.Taken.Money != want[r.Entry][0]+want[r.Entry][1] || r.Held.Money != -want[r.Entry][0] {
				t.Errorf("%s: %+v; want %v", r.Entry, r, want[r.Entry])
			}
			if want[r.Entry][0] > 0 {
				inHeld = append(inHeld, r.Entry)
			}
			if want[r.Entry][1] > 0 {
				inRest = append(inRest, r.Entry)
			}
			taken = taken.plus(r.Taken)
			if r.Left != (Amounts{Money: all - taken.Money}) {
				t.Errorf("%s leaves %v of %v; want %v", r.Entry, r.Left, all, all-taken.Money)
			}
		}
		if len(rows) != len(want) || taken.Money != all || !slices.Equal(inHeld, names(held)) || !slices.Equal(inRest, names(rest)) {
			t.Errorf("%d rows of %d entries; %v of %v; %v, %v", len(rows), len(want), taken, all, inHeld, inRest)
		}
	})
}

// fetchFrom reads lines, the newest first.
func fetchFrom(lines []stored) func(from int64, most int) ([]stored, error) {
	return func(from int64, most int) ([]stored, error) {
		i := slices.IndexFunc(lines, func(l stored) bool { return l.ID <= from })
		if i < 0 {
			return nil, nil
		}
		return lines[i:min(i+most, len(lines))], nil
	}
}

func names(l stored) (list []string) {
	for _, one := range l.entries {
		list = append(list, one.entry)
	}
	return list
}

// What is read for a page goes by its rows: where each line is of many entries few lines are read,
// and where each is of one few queries read them.
func TestFewLinesAreReadForAPage(t *testing.T) {
	for _, each := range []int{1, 2, 30, 200, 500} {
		var lines []stored
		for id := int64(600); id > 0; id-- {
			l := stored{Line: Line{ID: id, Kind: Settled, From: Free, To: Consumed}}
			for n := range each {
				l.entries = append(l.entries, share{entry: fmt.Sprint(id, "-", n)})
			}
			lines = append(lines, l)
		}
		for _, limit := range []int{50, MaxRows} {
			queries, shares := 0, 0
			r := newRowReader(600, func(from int64, most int) ([]stored, error) {
				list, err := fetchFrom(lines)(from, most)
				queries, shares = queries+1, shares+each*len(list)
				return list, err
			})
			list, next, err := r.read(RowCursor{line: 600}, limit)
			if err != nil || len(list) != limit || next.line == 0 {
				t.Fatalf("%d rows, then %+v, %v", len(list), next, err)
			}
			if enough := limit + max(64, 5*each); shares > enough || queries > 2+limit/32 {
				t.Errorf("lines of %d: %d queries read %d rows for %d", each, queries, shares, limit)
			}
		}
	}
}

func TestRowCursors(t *testing.T) {
	c := RowCursor{line: 7, skip: 3, left: Amounts{Money: -5, Tokens: 1 << 40, Runs: -1}}
	if got, err := ParseRowCursor("before", c.String()); err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []string{"", "7", "7.3.-5.0", "7.3.-5.0.0.", "0.0.0.0.0", "-7.0.0.0.0", "7.-1.0.0.0", "7.2147483648.0.0.0", "7.0.x.0.0",
		"7.0.9223372036854775808.0.0", "7 .0.0.0.0", "7.0.0.0.0\n"} {
		if got, err := ParseRowCursor("before", wrong); !fault.Is(err, fault.Validation) {
			t.Errorf("%q is read as %+v, %v", wrong, got, err)
		}
	}
}
