package sharing_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/globs"
	"github.com/fleetboard/fleetboard/internal/jobs/sharing"
)

func rival(priority int, yields bool, files ...string) sharing.Rival {
	return sharing.Rival{ID: ids.New(), Priority: priority, Yields: yields, Files: globs.Parse(files)}
}

func TestWhoMayHaveItsFiles(t *testing.T) {
	works, ready, waits := rival(5, false, "db/**"), rival(5, true, "web/**"), rival(7, false, "api/**")
	for name, c := range map[string]struct {
		job    sharing.Rival
		may    bool
		yields int
	}{
		"nobody's files":              {rival(5, true, "docs/*"), true, 0},
		"of one who works":            {rival(9, true, "db/x.sql"), false, 0},
		"of one who is ready":         {rival(5, true, "web/x.js"), false, 0},
		"of one who is less urgent":   {rival(6, true, "web/x.js"), true, 1},
		"of one who waits, as urgent": {rival(7, true, "api/x.go"), false, 0},
		"before one who waits":        {rival(8, true, "api/x.go"), true, 0},
		"its own":                     {works, true, 0},
		"the next one's":              {waits, true, 0},
		"all files":                   {rival(9, true), false, 0},
	} {
		repo := sharing.NewRepo(new(globs.DefaultSteps))
		repo.AddHolder(works)
		repo.AddHolder(ready)
		repo.AddWaiter(waits)
		if yielding, may := repo.MayHave(c.job); may != c.may || len(yielding) != c.yields {
			t.Errorf("%s: %v, %d yield; want %v, %d", name, may, len(yielding), c.may, c.yields)
		}
	}
}

// A repo has its most jobs, of whom no further one is; nor does a new job pass more that wait than
// are looked at.
func TestARepoIsFull(t *testing.T) {
	repo := sharing.NewRepo(new(globs.DefaultSteps))
	for i := range sharing.Most {
		repo.AddHolder(rival(5, false, fmt.Sprint("folder-", i, "/*")))
	}
	if _, may := repo.MayHave(rival(9, true, "elsewhere")); may {
		t.Error("one more may share the repo")
	}
	waiting := sharing.NewRepo(new(globs.DefaultSteps))
	for i := range sharing.Most + 1 {
		waiting.AddWaiter(rival(5, false, fmt.Sprint("folder-", i, "/*")))
	}
	if _, may := waiting.MayHave(rival(9, true, "elsewhere")); may || len(waiting.Waiters()) != sharing.Most {
		t.Errorf("%d wait; a new one passes: %v", len(waiting.Waiters()), may)
	}
	if _, may := waiting.MayHave(waiting.Waiters()[0]); !may {
		t.Error("the first that waits may not have its files")
	}
}

// The same job is named each time: one that works before one that is ready.
func TestWhoBlocksIsTheSameEachTime(t *testing.T) {
	asks := rival(5, true, "db/*")
	holders := []sharing.Rival{rival(5, true, "db/a"), rival(5, false, "db/b"), rival(5, false, "db/c"), rival(5, true, "**")}
	named := map[ids.ID]bool{}
	for range 4 {
		holders = append(holders[1:], holders[0])
		repo := sharing.NewRepo(new(globs.DefaultSteps))
		for _, h := range holders {
			repo.AddHolder(h)
		}
		other, paths, waits, is := repo.Blocking(asks)
		i := slices.IndexFunc(holders, func(h sharing.Rival) bool { return h.ID == other })
		if !is || waits || i < 0 || holders[i].Yields || len(paths) == 0 {
			t.Fatalf("%v blocks with %v", other, paths)
		}
		named[other] = true
	}
	if len(named) != 1 {
		t.Errorf("%d jobs are named", len(named))
	}
}

// The worst that a repo can cost: as many jobs as may be, each with a hundred globs that are
// alike as far as the last character.
func BenchmarkTheWorstRepo(b *testing.B) {
	files := func(end string) (list []string) {
		for i := range 100 {
			list = append(list, fmt.Sprintf("*a*a*a*a*a*a*a*a/%d/**/*%s", i, end))
		}
		return list
	}
	for b.Loop() {
		steps := new(globs.DefaultSteps)
		costly := func(end string) sharing.Rival {
			return sharing.Rival{ID: ids.New(), Priority: 5, Files: steps.Parse(files(end))}
		}
		repo := sharing.NewRepo(steps)
		for range sharing.Most {
			repo.AddHolder(costly("x"))
			repo.AddWaiter(costly("x"))
		}
		repo.MayHave(costly("y"))
		repo.Blocking(costly("y"))
	}
}
