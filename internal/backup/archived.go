package backup

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/replication"
)

// archivedLog is the log that goes on from the end of a backup; empty where there is none.
type archivedLog struct {
	store Store
	chain string
	state chainState
	// first is where the first segment begins that the backup does not have itself.
	first replication.LSN
	files []logFile // from there on
}

// archivedLog finds the log that follows the chosen backup, and refuses a time beyond its end.
func (r Request) archivedLog(ctx context.Context, done *Restored) (*archivedLog, error) {
	if r.At.After(time.Now()) {
		return nil, refuse("%s is in the future", stamp(r.At))
	}
	l := &archivedLog{store: r.From}
	end := done.Ended
	if done.Copy.Chain != "" {
		state, signer, err := readState(ctx, r.From, done.Copy.Chain)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the backup was copied elsewhere without the log
		case err != nil:
			return nil, err
		case done.Secret != nil && !signedBy(signer, append(r.Secrets, done.Secret)):
			return nil, damaged(chainFolder + done.Copy.Chain + "/" + stateName)
		default:
			if err := l.find(ctx, done.Copy, state); err != nil {
				return nil, err
			}
			if len(state.Ends) > 0 {
				done.Known = state.Ends
			}
			if state.Reached.After(end) {
				end = state.Reached
			}
		}
	}
	if r.At.After(end) {
		return nil, refuse("the archived log ends at %s, which is before %s: name an earlier time", stamp(end), stamp(r.At))
	}
	return l, nil
}

// find lists the files behind the end of a backup.
func (l *archivedLog) find(ctx context.Context, c *Copy, state chainState) error {
	end, err := replication.ParseLSN(c.End)
	if err != nil {
		return err
	}
	l.chain, l.state, l.first = c.Chain, state, (end - 1).Segment(c.SegmentSize).Plus(c.SegmentSize)
	all, err := logFiles(ctx, l.store, c.Chain+"/", c.SegmentSize)
	for _, f := range all {
		if f.begins >= l.first {
			l.files = append(l.files, f)
		}
	}
	return err
}

// reaches reports whether the log goes beyond the end of its backup, and up to a time: any, where that
// is zero.
func (l *archivedLog) reaches(at time.Time) bool {
	return len(l.files) > 0 && !at.IsZero()
}

// size returns how many bytes the segments have.
func (l *archivedLog) size() int64 {
	segments, last := int64(0), replication.LSN(0)
	for _, f := range l.files {
		if f.begins != last {
			segments, last = segments+1, f.begins
		}
	}
	return segments * l.state.SegmentSize
}

// check reads all files, and refuses a log that has a gap.
func (l *archivedLog) check(ctx context.Context, progress Progress) error {
	return l.segments(ctx, func(name string, _ []byte) error {
		progress("check "+name, 0, 0)
		return nil
	})
}

// write writes the segments into the cluster.
func (l *archivedLog) write(ctx context.Context, place *db.Restoration, progress Progress) error {
	return l.segments(ctx, func(name string, content []byte) error {
		progress("write "+name, 0, 0)
		return place.Write("pg_wal/"+name, content)
	})
}

// segments calls do for each segment in order; the last one is filled up with zeros.
func (l *archivedLog) segments(ctx context.Context, do func(name string, content []byte) error) error {
	if len(l.files) == 0 {
		return nil
	}
	position, err := replication.ParseLSN(l.state.Position)
	if err != nil {
		return err
	}
	size, files := l.state.SegmentSize, l.files
	for begins := l.first; begins < position; begins = begins.Plus(size) {
		n := 0
		for n < len(files) && files[n].begins == begins {
			n++
		}
		name := replication.SegmentName(l.state.Timeline, begins, size)
		content, filled, err := l.segment(ctx, files[:n])
		if errors.Is(err, fs.ErrNotExist) {
			// A server that archives has put the whole segment in the place of its pieces meanwhile.
			content, filled, err = l.segmentAnew(ctx, name)
		}
		if err != nil {
			return err
		}
		if needs := min(int64(position-begins), size); filled < needs { //nolint:gosec // less than a segment
			return damage("the archived log has a gap: of %s it has %d bytes of %d", name, filled, needs)
		}
		if err := do(name, content); err != nil {
			return err
		}
		files = files[n:]
	}
	return nil
}

// segmentAnew puts a segment together out of the files that are there now.
func (l *archivedLog) segmentAnew(ctx context.Context, name string) (content []byte, filled int64, err error) {
	files, err := logFiles(ctx, l.store, l.chain+"/"+name, l.state.SegmentSize)
	if err == nil {
		content, filled, err = l.segment(ctx, files)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = damage("the archived log has a gap: %v", err)
	}
	return content, filled, err
}

// segment puts a segment together, and returns how many bytes of it are known.
func (l *archivedLog) segment(ctx context.Context, files []logFile) (content []byte, filled int64, err error) {
	content = make([]byte, l.state.SegmentSize)
	for _, f := range files {
		piece, err := f.read(ctx, l.store)
		if err != nil {
			return nil, 0, err
		}
		end := f.offset + int64(len(piece))
		// A server that began anew in the middle of a segment has written some of it twice.
		if f.offset > filled || end > l.state.SegmentSize || end <= filled {
			continue
		}
		copy(content[f.offset:], piece)
		filled = end
	}
	return content, filled, nil
}

// Reach returns up to when a backup can be rolled forward; zero where no log follows it.
func Reach(ctx context.Context, store Store, m Manifest) (time.Time, error) {
	if m.Copy == nil || m.Copy.Chain == "" {
		return time.Time{}, nil
	}
	state, _, err := readState(ctx, store, m.Copy.Chain)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return state.Reached, err
}
