package jobsearch

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// InLog says where in a job's log the words are.
type InLog struct {
	Epoch int64 // the attempt that wrote them
	// Line is the newest of its lines with the most of the words, nil where the lines that
	// were looked at have none.
	Line *joblog.Line
	Text string // what of the line a search of this log finds it by
}

const (
	// morePhrases is how many times as many jobs are looked at where words have to stand
	// together, which the index does not know; maxBlocks is how many in all.
	morePhrases = 3
	maxBlocks   = 60
)

// FindLogs finds jobs by words in the log of one of their attempts that have ended: those in
// quotes, or without blanks between them, stand together in a line, all of them within a block
// of the log, the last one may be the beginning of a word. The newest jobs come first, at most
// limit, each with its last such attempt.
//
// Fault: Validation for a search without a word.
func (s *Service) FindLogs(ctx context.Context, who tenancy.Principal, words string, limit int) (list []Found, err error) {
	wanted, err := fulltext.Parse(words)
	if err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = findLogsTx(ctx, tx, who.Workspace, wanted, limit)
		return err
	}, db.Snapshot, db.PlanAnew)
	return list, err
}

func findLogsTx(ctx context.Context, tx db.Tx, workspace ids.ID, wanted fulltext.Query, limit int) ([]Found, error) {
	most := min(limit, maxBlocks)
	if slices.ContainsFunc(wanted, fulltext.Part.IsPhrase) {
		most = min(limit*morePhrases, maxBlocks)
	}
	hits, err := blocksTx(ctx, tx, workspace, wanted, most)
	if err != nil {
		return nil, err
	}
	if err := readTx(ctx, tx, workspace, hits); err != nil {
		return nil, err
	}
	list := make([]Found, 0, limit)
	var order []ids.ID
	var lines []int64
	for _, h := range hits {
		f, line, good := h.found(wanted)
		if good && len(list) < limit {
			list, order, lines = append(list, f), append(order, h.job), append(lines, line)
		}
	}
	whole, err := linesTx(ctx, tx, workspace, order, lines)
	if err != nil {
		return nil, err
	}
	loaded, err := jobs.LoadManyTx(ctx, tx, workspace, order)
	for _, job := range loaded {
		f := &list[slices.Index(order, job.ID)]
		f.Job = job
		if line, ok := whole[job.ID]; ok {
			f.In.Line = &line
		}
	}
	return slices.DeleteFunc(list, func(f Found) bool { return f.ID == ids.ID{} }), err
}

// found returns the hit in a block by its lines, the newest first, and the line that is shown, 0 for
// none; it is no hit where words that have to stand together do not.
func (b *block) found(wanted fulltext.Query) (f Found, shown int64, good bool) {
	f.In = &InLog{Epoch: b.epoch}
	most := 0
	good = !slices.ContainsFunc(wanted, fulltext.Part.IsPhrase)
	for _, l := range b.lines {
		seen, event := wanted.See(l.message), wanted.See(l.event)
		parts, whole := rate(wanted, seen.Has, event.Has)
		if parts <= most {
			continue
		}
		most, good = parts, whole
		if !seen.Any() {
			seen = event
		}
		shown, f.In.Text, f.Passage = l.id, seen.Longest(), seen.Passage()
	}
	return f, shown, good
}

// rate counts the parts of a search that a line has in its message or its event, and reports
// whether all are there that have several words.
func rate(wanted fulltext.Query, message, event []bool) (parts int, whole bool) {
	whole = true
	for i, p := range wanted {
		if message[i] || event[i] {
			parts++
		} else if p.IsPhrase() {
			whole = false
		}
	}
	return parts, whole
}

// Search is Find, and after what it finds the jobs that FindLogs finds beside them; one of
// the two where only that is wanted.
//
// Fault: Validation for a search without a word.
func (s *Service) Search(ctx context.Context, who tenancy.Principal, words string, in Where, limit int) (list []Found, err error) {
	if in != Logs {
		if list, err = s.Find(ctx, who, words, limit); err != nil {
			return nil, err
		}
	}
	if in == Texts || len(list) == limit {
		return list, nil
	}
	// As many more as may be among those already found.
	logs, err := s.FindLogs(ctx, who, words, limit)
	for _, f := range logs {
		known := slices.ContainsFunc(list, func(k Found) bool { return k.ID == f.ID })
		if !known && len(list) < limit {
			list = append(list, f)
		}
	}
	return list, err
}

// Where is what of jobs is searched.
type Where string

// Everything is their texts and logs, in this order.
const (
	Everything Where = "everything"
	Texts      Where = "jobs"
	Logs       Where = "logs"
)
