package worker

import (
	"context"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// lookEvery is of how many heartbeats one comes with a new look at what the attempts touch.
	lookEvery = 3
	// lookShare: a look that takes long is followed by a rest so many times as long.
	lookShare = 20
	// maxTouching is how many leases tell files in one heartbeat, maxToldBytes how long those are
	// together: half of what a body may have, which also holds what JSON adds to them.
	maxTouching  = 100
	maxToldBytes = 128 << 10
	// maxTouchedBytes is how long a path may be.
	maxTouchedBytes = 1024
)

// touchedFiles are those that the work on a lease touches, as the server gets them: each once, and all
// again where it may have lost them. Its methods may be called by several goroutines.
type touchedFiles struct {
	mu   sync.Mutex
	seen []string
	told map[string]bool
	off  bool // the server takes none
}

// see notes what a look has found.
func (t *touchedFiles) see(list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = list
}

// untold returns files that the server does not have, as many as it takes at once and of at most so
// many bytes.
func (t *touchedFiles) untold(bytes int) (list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range t.seen {
		if bytes -= len(name); t.off || bytes < 0 || len(list) == api.MaxProgressReportFilesTouched {
			break
		}
		if t.told[name] {
			bytes += len(name)
			continue
		}
		list = append(list, name)
	}
	return list
}

// note takes what became of a heartbeat that told these files: after a failure the server may have lost
// what it had. It reports whether the server takes none, which it has not said before.
func (t *touchedFiles) note(list []string, err error) (refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && len(list) > 0:
		if t.told == nil {
			t.told = map[string]bool{}
		}
		for _, name := range list {
			t.told[name] = true
		}
	case err != nil:
		t.told = nil
		refused = len(list) > 0 && api.Refused(err, api.ProblemCodeValidationFailed, api.ProblemCodeMalformed, api.ProblemCodeTooLarge)
		t.off = t.off || refused
	}
	return refused
}

// takeTouched returns what a heartbeat is to tell of leases.
func takeTouched(held []*lease) map[*lease][]string {
	files, touching, left := map[*lease][]string{}, 0, maxToldBytes
	for _, l := range held {
		files[l] = nil
		if touching == maxTouching {
			continue
		}
		if list := l.files.untold(left); len(list) > 0 {
			files[l], touching = list, touching+1
			for _, name := range list {
				left -= len(name)
			}
		}
	}
	return files
}

// noteTouched notes what became of a heartbeat. Files that the server refuses are told no more, so that
// no lease is lost for them.
func (w *Worker) noteTouched(files map[*lease][]string, err error) {
	again := false
	for l, list := range files {
		again = l.files.note(list, err) || again
	}
	if again {
		w.Log.Warn("the server does not take the files that attempts touch: " + err.Error())
		w.beatNow.Set()
	}
}

// watchTouched looks again and again which files the work touches, until stop is called.
func (a *attempt) watchTouched(ctx context.Context) (stop func()) {
	if a.tree == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var looks sync.WaitGroup
	looks.Go(func() {
		look, rest := a.tree.Touched(), a.w.Beat
		for {
			select {
			case <-time.After(rest):
			case <-ctx.Done():
				return
			}
			began := time.Now()
			list, err := look.Look(ctx)
			if err != nil && ctx.Err() == nil {
				a.w.Log.Warn("the files that an attempt touches could not be found: "+err.Error(), "job", a.job.Key)
			}
			if err == nil {
				a.lease.files.see(touchedNames(list, a.hide))
			}
			rest = max(lookEvery*a.w.Beat, lookShare*time.Since(began))
		}
	})
	return func() { cancel(); looks.Wait() }
}

// touchedNames returns names of files as the API takes them, without secrets; those that it does not
// take are left out.
func touchedNames(list []string, hide func(string) string) []string {
	names := make([]string, 0, len(list))
	for _, name := range fileNames(list) {
		name = hide(name)
		p := fault.Problems{}
		p.TouchedFiles("name", []string{name}, 1, api.MaxProgressReportFilesTouchedItem)
		if len(p) == 0 && len(name) <= maxTouchedBytes {
			names = append(names, name)
		}
	}
	return names
}
