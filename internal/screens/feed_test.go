package screens_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
)

// Whatever happens, watchers are notified a few times a second, of the last state:
// what was committed one by one arrives together.
func TestChangesAreGathered(t *testing.T) {
	w := setup(t)
	for i := range 60 {
		w.job(jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}})
	}
	updates, err := w.Watch(t.Context(), w.who, w.board(screens.Filter{}).Cursor)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	changed := 0
	go func() {
		for version := 1; version <= 4; version++ {
			for i := range 60 {
				title := fmt.Sprint(time.Now())
				if _, err := w.jobs.Patch(t.Context(), w.who, fmt.Sprint("FB-", i+1), jobs.Patch{Spec: jobs.Spec{Title: title},
					Set: []string{"title"}, Version: version}); err != nil {
					t.Error(err)
				}
			}
		}
		w.job(jobs.New{Spec: jobs.Spec{Title: "the last"}})
	}()
	told := 0
	next(t, updates, func(u *screens.Update) bool {
		told++
		changed += len(u.Changed)
		for _, p := range u.Touched {
			if p.Column == screens.Ready && p.Count == 61 {
				return true
			}
		}
		return false
	})
	if most := int(time.Since(began)/(120*time.Millisecond)) + 2; told > most {
		t.Errorf("told %d times in %v, want %d at most", told, time.Since(began), most)
	}
	t.Logf("told %d times of %d changed jobs in %v", told, changed, time.Since(began))
}

// Where more jobs changed at once than are read one by one, the columns are read
// instead; the jobs are named all the same, for those who look at one of them.
func TestManyChangesAtOnceTouchAllColumns(t *testing.T) {
	w := setup(t)
	updates, err := w.Watch(t.Context(), w.who, w.board(screens.Filter{}).Cursor)
	if err != nil {
		t.Fatal(err)
	}
	var batch []jobs.New
	for i := range 70 {
		batch = append(batch, jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}})
	}
	made, err := w.jobs.Create(t.Context(), w.who, nil, batch...)
	if err != nil {
		t.Fatal(err)
	}
	u := next(t, updates, func(u *screens.Update) bool { return len(u.Changed) > 0 })
	if len(u.Changed) != 70 || len(u.Cards) != 0 || len(u.Touched) != len(screens.Columns) || u.Needs == nil {
		t.Fatalf("%d changed, %d cards, %d columns, needs %v", len(u.Changed), len(u.Cards), len(u.Touched), u.Needs)
	}
	if first := u.Changed[0]; first.ID != made.Jobs[0].ID || first.Key != made.Jobs[0].Key {
		t.Errorf("the first is %+v", first)
	}
}
