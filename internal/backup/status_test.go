package backup

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// Two parts note how they get on, at once: the status has the problem of either for as long as there is one.
func TestTheStatusOfTwoPartsTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newStatusFile(dir, "/backup")
	var parts sync.WaitGroup
	for _, part := range []int{partLog, partBackups} {
		parts.Go(func() {
			for range 100 {
				s.note(part, errors.New("the disk is full"))
				s.reached(time.Now())
				s.backup(Manifest{ID: "one"})
				s.note(part, nil)
			}
		})
	}
	parts.Wait()
	problem := func() string {
		t.Helper()
		is, err := ReadStatus(dir)
		if err != nil || is.LastID != "one" || is.Address != "/backup" || (is.Problem == "") != is.Since.IsZero() {
			t.Errorf("%+v, %v", is, err)
		}
		return is.Problem
	}
	if p := problem(); p != "" {
		t.Errorf("all is well, and the problem is %q", p)
	}
	for _, step := range []struct {
		part int
		err  error
		want string
	}{
		{partBackups, errors.New("no backup"), "no backup"}, {partLog, errors.New("no log"), "no log"}, {partLog, nil, "no backup"},
		{partBackups, nil, ""},
	} {
		s.note(step.part, step.err)
		if p := problem(); p != step.want {
			t.Errorf("the problem is %q, want %q", p, step.want)
		}
	}
	if is := newStatusFile(dir, "/elsewhere").is; is.LastID != "" {
		t.Errorf("of another place: %+v", is)
	}
}

// A damaged backup is said to be one, and is no reason to make no others.
func TestBesideADamagedBackupOthersAreMade(t *testing.T) {
	t.Parallel()
	store, k := memory{}, &Keeper{status: newStatusFile(t.TempDir(), "/backup")}
	m := manifestOf(1)
	store.put(t, m)
	whole := store[m.ID+"/"+manifestName]
	store[m.ID+"/"+manifestName] = whole[1:]
	if err := k.lookAt(t.Context(), store); err != nil || k.newest != nil {
		t.Errorf("%+v, %v", k.newest, err)
	}
	if err := prune(t.Context(), store, manifestOf(2), 1); err == nil {
		t.Error("nobody is told of the damaged one")
	}
	store[m.ID+"/"+manifestName] = whole
	if err := k.lookAt(t.Context(), store); err != nil || k.newest == nil || k.newest.ID != m.ID {
		t.Errorf("%+v, %v", k.newest, err)
	}
}
