package passwords

import "time"

// Fill takes all places of the hashes, so that others wait.
func (p *Hasher) Fill() {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.busy = hashesAtOnce
}

// Queued returns how many wait.
func (p *Hasher) Queued() int {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	return p.queue.known.waiting + p.queue.strangers.waiting
}

// crowd lets n wait under one name who never go.
func (q *hashQueue) crowd(who Asker, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range n {
		q.findLine(who).push(who.Name, make(chan struct{}))
	}
}

// Crowd lets n wait under one name who never go.
func (p *Hasher) Crowd(who Asker, n int) { p.queue.crowd(who, n) }

// SetTook says how long a turn takes.
func (p *Hasher) SetTook(took time.Duration) { p.queue.took = took }

// Free lets the next one in.
func (p *Hasher) Free() { p.queue.busy = 0 }

// Empty sends all away who wait.
func (p *Hasher) Empty() { p.queue = newHashQueue() }

// TooBusy returns the refusal of a queue that is full.
func TooBusy() error { return tooBusy(maxQueue) }
