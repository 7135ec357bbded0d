package backup

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db/replication"
)

// leftFor is after how long a backup without a manifest, or a log without a backup, belongs to nobody.
const leftFor = 24 * time.Hour

// prune removes the oldest backups of the server that made the newest, but for so many, and the log that
// no backup needs any more.
func prune(ctx context.Context, store Store, newest Manifest, keep int) error {
	list, err := List(ctx, store)
	if err != nil {
		return err
	}
	var own []Manifest
	for _, f := range list {
		if f.Copy != nil && f.Copy.System == newest.Copy.System {
			own = append(own, f.Manifest)
		}
	}
	for len(own) > keep {
		if err := removeAll(ctx, store, own[0].ID); err != nil {
			return err
		}
		own = own[1:]
	}
	return pruneLogs(ctx, store, newest, own)
}

// removeUnfinished removes backups that were never finished: a day old, or of any age where nobody else
// writes to the store now.
func removeUnfinished(ctx context.Context, store Store, alone bool) error {
	ids, err := folders(ctx, store)
	if err != nil {
		return err
	}
	for _, id := range ids {
		begun, err := begunAt(id)
		if err != nil || !alone && time.Since(begun) < leftFor {
			continue
		}
		if _, err := store.Get(ctx, id+"/"+manifestName); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := removeAll(ctx, store, id); err != nil {
			return err
		}
	}
	return nil
}

// pruneLogs removes the log before the oldest backup of each chain.
func pruneLogs(ctx context.Context, store Store, newest Manifest, own []Manifest) error {
	names, err := store.List(ctx, chainFolder)
	if err != nil {
		return err
	}
	oldest := map[string]replication.LSN{}
	for _, m := range own {
		start, err := replication.ParseLSN(m.Copy.Start)
		if err != nil {
			return err
		}
		if at, known := oldest[m.Copy.Chain]; !known || start < at {
			oldest[m.Copy.Chain] = start
		}
	}
	states := map[string]*chainState{}
	for _, name := range names {
		chain, _, _ := strings.Cut(strings.TrimPrefix(name, chainFolder), "/")
		if _, known := states[chain]; !known {
			state, _, err := readState(ctx, store, chain)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if states[chain] = &state; err != nil {
				states[chain] = nil
			}
		}
		state := states[chain]
		if state == nil || state.System != newest.Copy.System || strings.HasSuffix(name, "/"+stateName) {
			continue
		}
		needed, kept := oldest[chain]
		f, err := parseLogName(name, state.SegmentSize)
		if err != nil {
			return err
		}
		if kept && f.begins.Plus(state.SegmentSize) <= needed || !kept && time.Since(state.Reached) > leftFor {
			if err := store.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
