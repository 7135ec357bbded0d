package transcript

import (
	"context"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// expireBatch is how many transcripts one call of ExpireTranscripts deletes at most.
const expireBatch = 1000

// MaxLimit is how many steps a page has at most.
const MaxLimit = 200

// maxRead is how many chunks are read for a page: a search of more goes on on the next one.
const maxRead = 4

// maxUnpacked is how many chunks are kept in memory for those who watch the same attempts.
const maxUnpacked = 32

// Service reads transcripts and deletes the old ones.
type Service struct {
	db *db.DB
	// unpacked are the lines of chunks. What a chunk of these steps holds never changes.
	unpacked *lru.Cache[unpackedKey, []byte]
}

type unpackedKey struct {
	of          Attempt
	first, last int64
}

// NewService returns the transcripts kept in d.
func NewService(d *db.DB) *Service {
	unpacked, err := lru.New[unpackedKey, []byte](maxUnpacked)
	if err != nil {
		panic(err) // the size is a constant
	}
	return &Service{db: d, unpacked: unpacked}
}

// Filter narrows a transcript.
type Filter struct {
	After  int64  // steps behind this one, oldest first
	Before int64  // where it is not 0: the last ones before this one
	Kinds  []Kind // of one of these; none is all
	Path   string // whose path is this one
	Text   string // with this text in title or text, in capitals or not
	Limit  int    // 1..200, 0 is 50
}

// Page is a part of a transcript, in the order of its steps.
type Page struct {
	Steps []Step
	// Looked is the last step that was looked at, the first one where the page goes back from Before. More says
	// that there may be others behind it.
	Looked int64
	More   bool
	Head   Head
}

// Head is a transcript without its steps.
type Head struct {
	Last    int64 // the number of the last step that came
	Steps   int64 // that are kept
	LeftOut int64 // that there was no room for
	Bytes   int64
	Tokens  int64
	Cost    int64 // billionths of a dollar
}

// Steps reads a part of the transcript of an attempt of a job, which is named by its key or id. Faults:
// Validation, NotFound.
func (s *Service) Steps(ctx context.Context, who tenancy.Principal, job string, epoch int64, f Filter) (page Page, err error) {
	if err := f.check(); err != nil {
		return Page{}, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		of, err := jobs.LoadTx(ctx, tx, who.Workspace, job)
		if err != nil {
			return err
		}
		if epoch < 1 || epoch > of.Epoch {
			return fault.New(fault.NotFound, "The job %s has no attempt %d.", of.Key, epoch)
		}
		page, err = s.pageTx(ctx, tx, Attempt{who.Workspace, of.ID, epoch}, f)
		return err
	})
	return page, err
}

// ReadAttempt is Steps of an attempt that is known to be there.
func (s *Service) ReadAttempt(ctx context.Context, of Attempt, f Filter) (page Page, err error) {
	if err := f.check(); err != nil {
		return Page{}, err
	}
	err = s.db.In(ctx, db.Workspace(of.Workspace), func(tx db.Tx) (err error) {
		page, err = s.pageTx(ctx, tx, of, f)
		return err
	})
	return page, err
}

// check fills in the limit.
func (f *Filter) check() error {
	if f.Limit == 0 {
		f.Limit = 50
	}
	if f.Limit < 1 || f.Limit > MaxLimit {
		return fault.Invalid("limit", "It must be 1 to %d (it is %d).", MaxLimit, f.Limit)
	}
	if f.After < 0 || f.Before < 0 {
		return fault.Invalid("after", "It must be 0 or more.")
	}
	for _, k := range f.Kinds {
		if !slices.Contains(Kinds, k) {
			return fault.Invalid("kind", "It must be one of message, reasoning, tool, output, edit, plan, usage, person.")
		}
	}
	return nil
}

// matches reports whether a step passes the filter. text is f.Text in small letters.
func (f Filter) matches(s Step, text string) bool {
	switch {
	case s.N <= f.After, f.Before > 0 && s.N >= f.Before:
		return false
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, s.Kind):
		return false
	case f.Path != "" && s.Path != f.Path:
		return false
	}
	return text == "" || strings.Contains(strings.ToLower(s.Title), text) || strings.Contains(strings.ToLower(s.Text), text)
}

// pageTx reads a page, as far as maxRead chunks go.
func (s *Service) pageTx(ctx context.Context, tx db.Tx, of Attempt, f Filter) (Page, error) {
	head, err := headTx(ctx, tx, of)
	page := Page{Head: head, Looked: max(f.After, f.Before)}
	if err != nil || head.Last == 0 {
		return page, err
	}
	text := strings.ToLower(f.Text)
	for range maxRead {
		c, err := nextTx(ctx, tx, of, f, page.Looked)
		if err != nil {
			return Page{}, err
		}
		if c.last == 0 {
			return page.ended(f), nil
		}
		steps, err := s.stepsIn(of, c, f)
		if err != nil {
			return Page{}, err
		}
		for _, step := range steps {
			if !f.matches(step, text) {
				continue
			}
			if len(page.Steps) == f.Limit {
				page.More = true
				return page.ordered(f), nil
			}
			page.Steps, page.Looked = append(page.Steps, step), step.N
		}
		// A chunk that took the place of this one meanwhile has its steps too.
		if f.Before > 0 {
			page.Looked, f.Before = c.first, c.first
		} else {
			page.Looked, f.After = c.last, c.last
		}
		if page.Looked >= head.Last && f.Before == 0 || page.Looked == 1 && f.Before > 0 {
			return page.ended(f), nil
		}
	}
	page.More = true
	return page.ordered(f), nil
}

// stepsIn returns the steps of a chunk that are on the filter's side of its place, the next one first.
func (s *Service) stepsIn(of Attempt, c chunk, f Filter) ([]Step, error) {
	key := unpackedKey{of, c.first, c.last}
	text, ok := s.unpacked.Get(key)
	if !ok {
		var err error
		if text, err = unpack(c.data); err != nil {
			return nil, err
		}
		s.unpacked.Add(key, text)
	}
	steps, err := read(text, f.After)
	if f.Before > 0 {
		slices.Reverse(steps)
	}
	return steps, err
}

// ended returns the page where there is nothing behind it. The steps up to the last one that was known before
// they were read were all looked at.
func (p Page) ended(f Filter) Page {
	if f.Before == 0 {
		p.Looked = max(p.Looked, p.Head.Last)
	}
	return p.ordered(f)
}

// ordered returns the page in the order of its steps.
func (p Page) ordered(f Filter) Page {
	if f.Before > 0 {
		slices.Reverse(p.Steps)
	}
	return p
}

// maxEpochs is how many attempts Epochs names.
const maxEpochs = 20

// Epochs returns the attempts of a job that have a transcript, the newest first.
func (s *Service) Epochs(ctx context.Context, workspace, job ids.ID) (list []int64, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		list, err = epochsTx(ctx, tx, workspace, job)
		return err
	})
	return list, err
}

// LastEdit returns the number of the last step of an attempt that edits a file, 0 where none does.
func (s *Service) LastEdit(ctx context.Context, of Attempt, path string) (n int64, err error) {
	err = s.db.In(ctx, db.Workspace(of.Workspace), func(tx db.Tx) error {
		f := Filter{Before: maxNumber, Kinds: []Kind{Edit}, Path: path, Limit: 1}
		for {
			page, err := s.pageTx(ctx, tx, of, f)
			if err != nil || len(page.Steps) > 0 {
				if len(page.Steps) > 0 {
					n = page.Steps[0].N
				}
				return err
			}
			if !page.More {
				return nil
			}
			f.Before = page.Looked
		}
	})
	return n, err
}

// maxNumber is behind all steps.
const maxNumber = 1 << 62

// ExpireTranscripts deletes, a bounded number in each call, transcripts that are older than Retention. It returns how many.
func (s *Service) ExpireTranscripts(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	for _, workspace := range workspaces {
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := q.TranscriptExpire(ctx, tx, workspace, Retention.Seconds(), expireBatch-total)
			total += int(n)
			return err
		})
		if err != nil || total == expireBatch {
			return total, err
		}
	}
	return total, nil
}
