package witness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// comparePage is how many events are looked for in one transaction.
const comparePage = 1000

// Lack is what the database lacks of what the witness has seen.
type Lack struct {
	// Events are the missing events of each log, in the order of their ids.
	Events map[ids.ID][]Event
	// Gone is how many events were seen of logs whose workspace is not there.
	Gone map[ids.ID]int
	// Seen is how many events were looked for, Since when the oldest of them was made.
	Seen  int
	Since time.Time
	// Foreign is how many lines of the files this server did not write.
	Foreign int
}

// Missing compares what the witness has seen with the database. What a person deleted, and what was
// folded, is not missing.
func (w *Witness) Missing(ctx context.Context) (Lack, error) {
	l := Lack{Events: map[ids.ID][]Event{}, Gone: map[ids.ID]int{}}
	seen := map[ids.ID][]Event{}
	foreign, err := w.file.readAll(func(b batch) {
		seen[b.Workspace] = append(seen[b.Workspace], b.Events...)
		w.highest.Store(max(w.highest.Load(), number(b.Xid)))
	})
	l.Foreign = foreign
	for workspace, list := range seen {
		l.Seen += len(list)
		for _, e := range list {
			if l.Since.IsZero() || e.At.Before(l.Since) {
				l.Since = e.At
			}
		}
		err = errors.Join(err, w.compare(ctx, workspace, list, &l))
	}
	return l, err
}

// compare adds what a log lacks.
func (w *Witness) compare(ctx context.Context, workspace ids.ID, list []Event, l *Lack) error {
	for page := range slices.Chunk(list, comparePage) {
		var there bool
		var missing []Event
		err := w.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			if there, err = q.WorkspaceExists(ctx, tx, workspace); err == nil && there {
				missing, err = missingTx(ctx, tx, workspace, page)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("compare a log with its witness: %w", err)
		}
		if !there {
			l.Gone[workspace] = len(list)
			return nil
		}
		if len(missing) > 0 {
			l.Events[workspace] = append(l.Events[workspace], missing...)
		}
	}
	slices.SortFunc(l.Events[workspace], func(a, b Event) int { return int(a.ID - b.ID) })
	return nil
}

// missingTx returns which of the events are not there, or are others of the same id.
func missingTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Event) ([]Event, error) {
	which := make([]int64, len(list))
	for i, e := range list {
		which[i] = e.ID
	}
	present, err := presentTx(ctx, tx, workspace, which)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(list), func(e Event) bool {
		at, there := present[e.ID]
		return there && at.Equal(e.At)
	})
	if len(missing) == 0 {
		return nil, nil
	}
	folded, err := seal.FoldedTx(ctx, tx, workspace, which)
	if err != nil {
		return nil, err
	}
	missing = slices.DeleteFunc(missing, func(e Event) bool { return folded[e.ID] })
	return missing, nameTx(ctx, tx, workspace, missing)
}

// nameTx fills in the keys of jobs that are there.
func nameTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Event) error {
	var unnamed []ids.ID
	for _, e := range list {
		if e.Job != nil && e.Key == "" {
			unnamed = append(unnamed, *e.Job)
		}
	}
	if len(unnamed) == 0 {
		return nil
	}
	keys, err := keysTx(ctx, tx, workspace, unnamed)
	for i, e := range list {
		if e.Job != nil && e.Key == "" {
			list[i].Key = keys[*e.Job]
		}
	}
	return err
}
