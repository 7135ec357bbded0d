package jobs_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// apart makes the workspace's product "default" one whose jobs share repos by path.
func (b *bundle) apart() *bundle {
	b.t.Helper()
	dbfactory.Exec(b.t, b.db, `UPDATE product SET serialise = 'paths' WHERE workspace_id = $1`, b.who.Workspace)
	return b
}

// touching returns a job of the repo api that declares files, one a blank.
func touching(files string, priority int) jobs.New {
	return jobs.New{Spec: jobs.Spec{Title: "touches " + files, Repo: "api", Files: strings.Fields(files)}, Priority: &priority}
}

// taken asserts how many jobs have slots.
func (b *bundle) taken(want int) {
	b.t.Helper()
	if n := dbfactory.Int(b.t, b.db, `SELECT count(*) FROM repo_slot`); n != want {
		b.t.Errorf("%d slots are taken; want %d", n, want)
	}
}

// busyWith returns what a job waits for.
func (b *bundle) busyWith(j jobs.Job) (busy jobs.PathsBusy) {
	b.t.Helper()
	err := b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
		all, err := jobs.PathsBusyTx(b.t.Context(), tx, b.who.Workspace, []jobs.Job{b.get(j)})
		busy = all[j.ID]
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return busy
}

// free returns the jobs that may come next in the repo api.
func (b *bundle) free() (list []ids.ID) {
	b.t.Helper()
	err := b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) (err error) {
		list, err = jobs.NextInRepoTx(b.t.Context(), tx, b.who.Workspace, "api", jobs.SerialisePaths)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// Two jobs of one repo whose files can be the same are not ready at once, in one request or
// in two; others are.
func TestJobsShareARepoByPath(t *testing.T) {
	for name, c := range map[string]struct {
		one, other string
		busy       bool
	}{
		"the same file":    {"go.mod", "go.mod", true},
		"two folders":      {"internal/db", "internal/web", false},
		"a folder in both": {"internal/**", "internal/db/*.go cmd/*", true},
		"no files":         {"", "docs/*", true},
		"neither":          {"", "", true},
		"another case":     {"README.md", "readme.md", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t).apart()
			first, second := b.create(touching(c.one, 5))[0], b.create(touching(c.other, 5))[0]
			inWeb := []jobs.New{touching(c.one, 5), touching(c.other, 5)}
			inWeb[0].Repo, inWeb[1].Repo = "web", "web"
			both := b.create(inWeb...)
			for _, pair := range [][2]jobs.Job{{first, second}, {both[0], both[1]}} {
				b.is(pair[0], jobs.Ready, jobs.NoWait)
				if !c.busy {
					b.is(pair[1], jobs.Ready, jobs.NoWait)
					continue
				}
				b.is(pair[1], jobs.Waiting, jobs.WaitPathsBusy)
				if why := b.busyWith(pair[1]); why.Job != pair[0].Key || len(why.Paths) == 0 || why.Waits {
					t.Errorf("it waits for %+v", why)
				}
			}
			if c.busy {
				b.slots(2)
			} else {
				b.slots(4)
			}
		})
	}
}

// Other repos, other products and jobs without a repo do not count.
func TestPathsOfOtherReposAreOthers(t *testing.T) {
	b := setup(t).apart()
	b.create(touching("", 5))
	other := touching("", 5)
	other.Repo = "web"
	none := touching("", 5)
	none.Repo = ""
	for _, j := range b.create(other, none) {
		b.is(j, jobs.Ready, jobs.NoWait)
	}
	b.slots(2)
}

// Who waits is passed by nobody that is not more urgent, however many come whose files are free
// now; and by those that touch none of its files.
func TestNobodyPassesWhoWaitsForPaths(t *testing.T) {
	b := setup(t).apart()
	holder := b.create(touching("a/*", 5))[0]
	wide := b.create(touching("**", 5))[0]
	b.is(wide, jobs.Waiting, jobs.WaitPathsBusy)
	late := b.create(touching("b/*", 5))[0]
	b.is(late, jobs.Waiting, jobs.WaitPathsBusy)
	if why := b.busyWith(late); why.Job != wide.Key || !why.Waits {
		t.Errorf("it waits for %+v", why)
	}
	urgent := b.create(touching("c/*", 6))[0]
	b.is(urgent, jobs.Ready, jobs.NoWait)
	if list := b.free(); len(list) != 0 {
		t.Errorf("%d may come", len(list))
	}
	b.decide(holder, func(l jobs.Locked) (jobs.Decision, error) { return l.Cancel("") })
	b.decide(urgent, func(l jobs.Locked) (jobs.Decision, error) { return l.Cancel("") })
	if list := b.free(); len(list) != 1 || list[0] != wide.ID {
		t.Errorf("%v may come; want %s alone", list, wide.ID)
	}
	b.promote(wide.ID)
	b.is(wide, jobs.Ready, jobs.NoWait)
	b.promote(late.ID)
	b.is(late, jobs.Waiting, jobs.WaitPathsBusy)
	b.slots(1)
}

// All come whose files are free by now, the most urgent of those that exclude each other.
func TestWhoComesWhenPathsAreFree(t *testing.T) {
	b := setup(t).apart()
	holder := b.create(touching("**", 9))[0]
	list := b.create(touching("a", 3), touching("a/x", 4), touching("b", 1), touching("b c", 1), touching("d", 1))
	b.decide(holder, func(l jobs.Locked) (jobs.Decision, error) { return l.Cancel("") })
	free := b.free()
	if len(free) != 3 || free[0] != list[1].ID || free[1] != list[2].ID || free[2] != list[4].ID {
		t.Errorf("%v may come", free)
	}
	if swept := b.held(); len(swept) != 3 {
		t.Errorf("the sweep finds %d", len(swept))
	}
	for _, id := range free {
		b.promote(id)
	}
	b.is(list[0], jobs.Waiting, jobs.WaitPathsBusy)
	b.is(list[3], jobs.Waiting, jobs.WaitPathsBusy)
	b.slots(3)
}

// A more urgent job takes paths from all that are ready, and from none that is worked on.
func TestUrgentJobsTakePaths(t *testing.T) {
	b := setup(t).apart()
	one, two := b.create(touching("a", 3))[0], b.create(touching("b", 3))[0]
	urgent := b.create(touching("a b", 4))[0]
	b.is(urgent, jobs.Ready, jobs.NoWait)
	b.is(one, jobs.Waiting, jobs.WaitPathsBusy)
	b.is(two, jobs.Waiting, jobs.WaitPathsBusy)
	b.slots(1)
	b.lease(urgent)
	b.is(b.create(touching("b", 9))[0], jobs.Waiting, jobs.WaitPathsBusy)
	b.taken(1)
}

// An edit of files is an admission: a waiting job comes, a ready one waits or lets others come, and
// for one that is worked on others wait from then on.
func TestEditsOfFiles(t *testing.T) {
	b := setup(t).apart()
	one := b.create(touching("a", 5))[0]
	two := b.create(touching("a b", 5))[0]
	edit := func(j jobs.Job, files ...string) {
		t.Helper()
		p := jobs.Patch{Spec: jobs.Spec{Files: files}, Version: b.get(j).Version, Set: []string{"files"}}
		if _, err := b.Patch(t.Context(), b.who, j.Key, p); err != nil {
			t.Fatal(err)
		}
	}
	b.is(two, jobs.Waiting, jobs.WaitPathsBusy)
	edit(two, "b")
	b.is(two, jobs.Ready, jobs.NoWait)
	b.slots(2)
	edit(two, "a")
	b.is(two, jobs.Waiting, jobs.WaitPathsBusy)
	edit(one, "c")
	b.is(two, jobs.Ready, jobs.NoWait)
	b.is(one, jobs.Ready, jobs.NoWait)
	b.slots(2)
	b.lease(one)
	edit(one, "c", "d")
	b.is(b.create(touching("d", 5))[0], jobs.Waiting, jobs.WaitPathsBusy)
	b.taken(2)
}

// A setting moves the jobs that are there, each way; who is worked on goes on, and keeps
// others from its paths.
func TestAProductBeginsToSerialiseByPath(t *testing.T) {
	b := setup(t)
	list := b.create(touching("a", 5), touching("a", 5), touching("a b", 4), touching("c", 1), touching("b", 3))
	b.lease(list[0])
	b.lease(list[1])
	for _, way := range []jobs.Serialise{jobs.SerialisePaths, jobs.SerialiseRepo, jobs.SerialisePaths} {
		b.put("default", jobs.ProductSettings{Serialise: way})
		if way == jobs.SerialiseRepo {
			b.is(list[3], jobs.Waiting, jobs.WaitRepoBusy)
			b.taken(1)
			continue
		}
		b.is(list[2], jobs.Waiting, jobs.WaitPathsBusy)
		b.is(list[3], jobs.Ready, jobs.NoWait)
		b.is(list[4], jobs.Waiting, jobs.WaitPathsBusy) // the one before it wants b, too
		b.taken(3)
	}
	b.put("default", jobs.ProductSettings{})
	for _, j := range list[2:] {
		b.is(j, jobs.Ready, jobs.NoWait)
	}
	b.taken(0)
}

// A repo that is nobody's may have jobs of products that go by it and by paths.
func TestAJobWithARepoToItselfSharesNoPath(t *testing.T) {
	b := setup(t).apart()
	b.put("alone", jobs.ProductSettings{Serialise: jobs.SerialiseRepo})
	path := b.create(touching("a", 5))[0]
	whole := touching("b", 5)
	whole.Product = "alone"
	alone := b.create(whole)[0]
	b.is(alone, jobs.Waiting, jobs.WaitRepoBusy)
	late := b.create(touching("c", 5))[0]
	b.is(late, jobs.Waiting, jobs.WaitPathsBusy)
	b.decide(path, func(l jobs.Locked) (jobs.Decision, error) { return l.Cancel("") })
	if list := b.free(); len(list) != 1 || list[0] != alone.ID {
		t.Errorf("%v may come; want %s", list, alone.ID)
	}
	b.promote(alone.ID)
	b.is(alone, jobs.Ready, jobs.NoWait)
	b.promote(late.ID)
	b.is(late, jobs.Waiting, jobs.WaitPathsBusy)
	b.slots(1)
}

// However many make jobs of one repo at a time, no two of them that collide are ready; and what
// only met somebody else who decided is not left waiting.
func TestManyJobsForOnePath(t *testing.T) {
	b := setup(t).apart()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			if _, err := b.Create(t.Context(), b.who, nil, touching(fmt.Sprint("d", i%4), 5)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for range 3 { // as the sweep does
		for _, id := range b.held() {
			b.promote(id)
		}
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(DISTINCT files) FROM job WHERE status = 'ready'`); n != 4 {
		t.Errorf("%d of 4 paths are in use", n)
	}
	b.slots(4)
}

func TestGlobsAreRefused(t *testing.T) {
	b := setup(t)
	for files, field := range map[string]string{"ok " + strings.Repeat("*a", 33): "files[1]", strings.Repeat("{a,b}", 7): "files[0]", "../x": "files[0]"} {
		_, err := b.Create(t.Context(), b.who, nil, touching(files, 5))
		if f := fault.From(err); f == nil || f.Fields[field] == "" {
			t.Errorf("%s: %v", files, err)
		}
	}
	if _, _, err := b.PutProduct(t.Context(), b.who, "default", jobs.ProductSettings{Serialise: "file"}); !fault.Is(err, fault.Validation) {
		t.Errorf("another way to serialise: %v", err)
	}
}
