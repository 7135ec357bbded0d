package budgets

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

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
			r := &rowReader{from: cursor.line, fetch: func(from int64) (list []stored, err error) {
				return slices.DeleteFunc(slices.Clone(lines), func(l stored) bool { return l.ID > from }), nil
			}}
			list, next, err := r.read(cursor, limit)
			if err != nil || len(list) == 0 || len(list) > limit {
				t.Fatal(list, err)
			}
			rows, cursor = append(rows, list...), next
		}
		slices.Reverse(rows)
		left := Amounts{}
		var inHeld, inRest []string
		for _, r := range rows {
			if r.Taken.Money != want[r.Entry][0]+want[r.Entry][1] || r.Held.Money != -want[r.Entry][0] || r.Left != (Amounts{Money: r.Left.Money}) {
				t.Errorf("%s: %+v; want %v", r.Entry, r, want[r.Entry])
			}
			if want[r.Entry][0] > 0 {
				inHeld = append(inHeld, r.Entry)
			}
			if want[r.Entry][1] > 0 {
				inRest = append(inRest, r.Entry)
			}
			left = left.plus(r.Taken)
		}
		if len(rows) != len(want) || left.Money != held.Money+rest.Money || !slices.Equal(inHeld, names(held)) || !slices.Equal(inRest, names(rest)) {
			t.Errorf("%d rows of %d entries; %v of %v; %v, %v", len(rows), len(want), left, held.Money+rest.Money, inHeld, inRest)
		}
	})
}

func names(l stored) (list []string) {
	for _, one := range l.entries {
		list = append(list, one.entry)
	}
	return list
}

// A cursor that was written is read as it was, and others are refused.
func TestRowCursors(t *testing.T) {
	c := RowCursor{line: 7, skip: 3, left: Amounts{Money: -5, Tokens: 1 << 40, Runs: -1}}
	if got, err := ParseRowCursor("before", c.String()); err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
}
