package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// sharedFor is how long a message to a role or a factory may wait here for an engine to
// read it. The server gives it to another reader two minutes after it was read.
const sharedFor = time.Minute

// reviewResult is the type of what the server sends a factory about work that it handed in. No
// engine needs it: the claim of what was sent back has the feedback.
const reviewResult = "review_result"

// inbox is what was read of the agent's messages and given to no engine yet. A message
// belongs to the attempt on the job that it names, or on the job from which that one was
// filed. What an agent or a person says about jobs that were never here, or about none, is
// for whichever attempt reads next. The rest waits for an attempt to come.
type inbox struct {
	agent string

	mu      sync.Mutex
	waits   []waiting // by position
	after   int64     // what is behind this position was not read
	running map[string]int
	here    map[string]bool   // jobs that attempts had here, or filed
	filed   map[string]string // the job whose attempt filed another one, by that one's key
	changed chan struct{}     // closed at the next change
	untold  []int64           // acknowledged, which the server does not know
}

// waiting is a message, and until when it may wait here; never is 0.
type waiting struct {
	api.Message
	until time.Duration // on the clock of sinceBoot
}

func newInbox(agent string) *inbox {
	return &inbox{agent: agent, running: map[string]int{}, here: map[string]bool{}, filed: map[string]string{},
		changed: make(chan struct{})}
}

// change wakes whoever waits for a message or for an attempt. The caller holds mu.
func (b *inbox) change() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// begin says that an attempt on a job runs, end that it does not any more.
func (b *inbox) begin(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[job]++
	b.here[job] = true
	b.change()
}

func (b *inbox) end(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[job]--; b.running[job] == 0 {
		delete(b.running, job)
	}
	b.change()
}

// files says that the attempt on a job filed others.
func (b *inbox) files(job string, others ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range others {
		b.filed[key], b.here[key] = job, true
	}
	b.change()
}

// filedBy returns the keys of the jobs that a job's attempts filed.
func (b *inbox) filedBy(job string) (keys []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, by := range b.filed {
		if by == job {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// active reports whether an attempt runs; changed is closed when that may be otherwise.
func (b *inbox) active() (yes bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running) > 0, b.changed
}

// listening returns a context that ends with ctx, and when no attempt runs any more.
func (b *inbox) listening(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			yes, changed := b.active()
			if !yes {
				cancel()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

// put takes what was read at a time, and returns what is to be given back at once: messages
// of shared inboxes that no attempt here is meant by.
func (b *inbox) put(list []api.Message, next int64, now time.Duration) (back []api.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after = max(b.after, next)
	for _, m := range list {
		at, known := slices.BinarySearchFunc(b.waits, m.Seq, func(w waiting, seq int64) int { return int(min(max(w.Seq-seq, -1), 1)) })
		switch {
		case known || slices.Contains(b.untold, m.Seq):
		case m.Type == reviewResult && shared(m):
			b.untold = append(b.untold, m.Seq)
		case !shared(m):
			b.waits = slices.Insert(b.waits, at, waiting{Message: m})
		case b.owner(m) == nobody:
			back = append(back, m)
		default:
			b.waits = slices.Insert(b.waits, at, waiting{Message: m, until: now + sharedFor})
		}
	}
	b.change()
	return back
}

// shared reports whether other workers read the inbox that a message came from.
func shared(m api.Message) bool {
	return m.To.Kind == api.MessageAddressKindRole || m.To.Kind == api.MessageAddressKindFactory
}

// Who owns a message where that is no job.
const (
	nobody  = ""
	anybody = "*"
)

// owner returns the job whose attempts a message is for, anybody, or nobody as yet. The caller
// holds mu.
func (b *inbox) owner(m api.Message) string {
	named := []string{m.CorrelationID, m.Job}
	fact := m.From.Kind == api.MessageAddressKindSystem && m.Job != ""
	for _, key := range named {
		if !fact && b.runs(key, m) {
			return key
		}
	}
	for _, key := range named {
		if by := b.filed[key]; b.runs(by, m) {
			return by
		}
	}
	if fact && b.running[m.Job] > 0 {
		return m.Job
	}
	if fact || b.here[m.Job] || b.here[m.CorrelationID] {
		return nobody
	}
	return anybody
}

// runs reports whether an attempt on a job runs that did not send the message itself: one
// of this agent's names the job that it works on. The caller holds mu.
func (b *inbox) runs(job string, m api.Message) bool {
	own := m.From.Kind == api.MessageAddressKindAgent && m.From.Name == b.agent && m.Job == job
	return b.running[job] > 0 && !own
}

// count returns how many messages wait for the attempt on a job.
func (b *inbox) count(job string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waits {
		if by := b.owner(w.Message); by == job || by == anybody {
			n++
		}
	}
	return n
}

// take takes out what waits for the attempt on a job; changed is closed when there may be
// more.
func (b *inbox) take(job string) (list []api.Message, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = slices.DeleteFunc(b.waits, func(w waiting) bool {
		by := b.owner(w.Message)
		if by != job && by != anybody {
			return false
		}
		list = append(list, w.Message)
		return true
	})
	return list, b.changed
}

// overdue drops what has expired, and takes out messages of shared inboxes that waited here for too long, or all of
// them where no attempt runs.
func (b *inbox) overdue(now time.Duration) (list []api.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = slices.DeleteFunc(b.waits, func(w waiting) bool {
		if w.ExpiresAt != nil && time.Now().After(*w.ExpiresAt) {
			return true
		}
		if w.until == 0 || now < w.until && len(b.running) > 0 {
			return false
		}
		list = append(list, w.Message)
		return true
	})
	return list
}

// unheard notes messages whose acknowledgement did not arrive.
func (b *inbox) unheard(seqs []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.untold = append(b.untold, seqs...)
	b.change()
}

// toTell takes out what was acknowledged and the server does not know.
func (b *inbox) toTell(most int) (seqs []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(most, len(b.untold))
	seqs, b.untold = slices.Clone(b.untold[:n]), slices.Clone(b.untold[n:])
	return seqs
}

// place returns the position to read on from.
func (b *inbox) place() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.after
}
