package comments

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/patches"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxPatch is how many bytes of a patch are read.
	maxPatch = 64 << 20
	// maxKeptPatch is the longest patch that is kept in memory after it was read, of the keptPatches that were used last.
	maxKeptPatch = 300_000
	keptPatches  = 64
)

// Blobs has what was handed in by its SHA-256.
type Blobs interface {
	Open(ctx context.Context, who tenancy.Principal, sum blobs.Sum) (*blobs.Reader, error)
}

// patchKey names what an attempt handed in, which never changes.
type patchKey struct {
	job   ids.ID
	epoch int64
}

// readPatch reads the patch of what was handed in. Where the whole of it is not there any more, it is what the result has
// of it.
func (s *Service) readPatch(ctx context.Context, workspace, job ids.ID, h handedIn) (patches.Patch, error) {
	key := patchKey{job, h.epoch}
	if p, ok := s.kept.Get(key); ok {
		return p, nil
	}
	text, err := s.readText(ctx, workspace, h)
	if err != nil {
		return patches.Patch{}, err
	}
	p := patches.Read(text)
	if len(text) <= maxKeptPatch {
		s.kept.Add(key, p)
	}
	return p, nil
}

func (s *Service) readText(ctx context.Context, workspace ids.ID, h handedIn) (string, error) {
	if h.blob == "" {
		return h.diff, nil
	}
	sum, err := blobs.ParseSum(h.blob)
	if err != nil {
		return "", err
	}
	blob, err := s.blobs.Open(ctx, tenancy.System(workspace, "comments"), sum)
	if fault.Is(err, fault.NotFound) {
		return h.diff, nil
	}
	if err != nil {
		return "", err
	}
	text := new(strings.Builder)
	_, err = io.Copy(text, io.LimitReader(blob.InTurn(), maxPatch))
	return text.String(), err
}

// place works out where comments on a job stand in what was handed in last: the first of list.
func (s *Service) place(ctx context.Context, workspace, job ids.ID, list []handedIn, all []Comment) error {
	if len(list) == 0 {
		return nil
	}
	last := list[0]
	read := map[int64]patches.Patch{}
	patch := func(h handedIn) (p patches.Patch, err error) {
		if p, ok := read[h.epoch]; ok {
			return p, nil
		}
		p, err = s.readPatch(ctx, workspace, job, h)
		read[h.epoch] = p
		return p, err
	}
	for i := range all {
		c := &all[i]
		if c.Commit == last.commit {
			c.Position = &Position{last.commit, c.Place}
			continue
		}
		at := slices.IndexFunc(list, func(h handedIn) bool { return h.commit == c.Commit })
		if at < 0 {
			continue
		}
		earlier, err := patch(list[at])
		if err != nil {
			return err
		}
		later, err := patch(last)
		if err != nil {
			return err
		}
		if to, found := patches.Follow(earlier, later, c.Place); found {
			c.Position = &Position{last.commit, to}
		}
	}
	return nil
}
