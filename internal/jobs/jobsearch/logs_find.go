package jobsearch

import (
	"context"
	"slices"

	"fleetboard/db"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/joblog"
	"fleetboard/internal/tenancy"
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
	// lookLines is how many of an attempt's newest lines are looked at for a passage, seenLines
	// how many of those with the words.
	lookLines = joblog.MaxScan
	seenLines = 10
	// morePhrases is how many times as many jobs are looked at where words have to stand
	// together, which the index does not know.
	morePhrases = 3
)

// FindLogs finds jobs by words in the log of one of their attempts that have ended: those in
// quotes, or without blanks between them, stand together in a line, the last one may be the
// beginning of a word. The newest jobs come first, at most limit, each with its last such
// attempt.
//
// Fault: Validation for a search without a word.
func (s *Service) FindLogs(ctx context.Context, who tenancy.Principal, words string, limit int) (list []Found, err error) {
	parts, err := partsOf(words)
	if err != nil {
		return nil, err
	}
	err = s.db.ListInWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		list, err = findLogsTx(ctx, tx, who.Workspace, parts, limit)
		return err
	})
	return list, err
}

func findLogsTx(ctx context.Context, tx db.Tx, workspace ids.ID, parts []part, limit int) ([]Found, error) {
	most := limit
	if slices.ContainsFunc(parts, part.isPhrase) {
		most *= morePhrases
	}
	attempts, err := attemptsTx(ctx, tx, workspace, query(parts), most)
	if err != nil {
		return nil, err
	}
	lines, err := linesTx(ctx, tx, workspace, attempts, parts)
	if err != nil {
		return nil, err
	}
	list := make([]Found, 0, limit)
	var order []ids.ID
	for _, a := range attempts {
		f, good := foundIn(a, lines[a.job], parts)
		if good && len(list) < limit {
			list, order = append(list, f), append(order, a.job)
		}
	}
	loaded, err := jobs.LoadManyTx(ctx, tx, workspace, order)
	for _, job := range loaded {
		list[slices.Index(order, job.ID)].Job = job
	}
	return slices.DeleteFunc(list, func(f Found) bool { return f.ID == ids.ID{} }), err
}

// foundIn is the hit in an attempt's log by its lines, the newest first; it is none where
// words that have to stand together do not.
func foundIn(a attempt, lines []joblog.Line, parts []part) (f Found, good bool) {
	f.In = &InLog{Epoch: a.epoch}
	most := 0
	good = !slices.ContainsFunc(parts, part.isPhrase)
	for _, line := range lines {
		text := unmarked.Replace(line.Message)
		s, event := see(text, parts), see(line.Event, parts)
		r := rate(parts, s.has, event.has)
		if r.parts <= most {
			continue
		}
		most, good = r.parts, r.whole
		if len(s.marks) == 0 {
			text, s = line.Event, event
		}
		f.In.Line, f.In.Text, f.Passage = &line, s.longest(text), s.passage(text)
	}
	return f, good
}

// rating is how well a line has the parts of a search.
type rating struct {
	parts int  // that it has
	whole bool // it has all parts of several words
}

// rate rates a line by the parts that its message and its event have.
func rate(parts []part, message, event []bool) rating {
	r := rating{whole: true}
	for i, p := range parts {
		if message[i] || event[i] {
			r.parts++
		} else if p.isPhrase() {
			r.whole = false
		}
	}
	return r
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
