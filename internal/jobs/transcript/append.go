package transcript

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Attempt names the attempt that a transcript is of.
type Attempt struct {
	Workspace, Job ids.ID
	Epoch          int64
}

// Appended says what became of steps.
type Appended struct {
	Next    int64 // the number of the next step
	LeftOut int   // how many of them there was no room for
}

// AppendTx adds steps, which Check has passed, to a transcript, which stays locked until the transaction ends.
// Steps that it has are kept as they are. Those at the end that there is no room for are left out; their numbers
// count all the same. Fault: StepGap, with next_step, where some before them are missing.
func AppendTx(ctx context.Context, tx db.Tx, of Attempt, steps []Step) (Appended, error) {
	head, err := openTx(ctx, tx, of)
	if err != nil {
		return Appended{}, err
	}
	if steps[0].N > head.last+1 {
		return Appended{}, fault.New(fault.StepGap, "Step %d is the next one of this attempt (the first that came is %d).",
			head.last+1, steps[0].N).With("next_step", head.last+1)
	}
	for len(steps) > 0 && steps[0].N <= head.last {
		steps = steps[1:]
	}
	if len(steps) == 0 {
		return Appended{Next: head.last + 1}, nil
	}
	kept := head.fitting(steps)
	written := count{last: steps[len(steps)-1].N, steps: kept, leftOut: len(steps) - kept}
	for _, s := range steps[:kept] {
		written.bytes += s.Size()
		written.tokens += s.Tokens
		written.cost += s.Cost
	}
	if kept > 0 {
		if err := addTx(ctx, tx, of, steps[:kept]); err != nil {
			return Appended{}, err
		}
	}
	return Appended{Next: written.last + 1, LeftOut: written.leftOut}, countTx(ctx, tx, of, written)
}

// LastTx returns the number of the last step of a transcript, 0 where it has none.
func LastTx(ctx context.Context, tx db.Tx, of Attempt) (int64, error) {
	head, err := headTx(ctx, tx, of)
	return head.Last, err
}

// head is a transcript without its steps, as it is before a call.
type head struct {
	last, steps                         int64
	attemptBytes, minuteBytes, jobBytes int64
}

// count is what a call adds to a transcript.
type count struct {
	last           int64
	steps, leftOut int
	bytes          int64
	tokens, cost   int64
}

// fitting returns how many steps at the beginning of a call there is room for.
func (h head) fitting(steps []Step) int {
	left := min(MaxMinute-h.minuteBytes, MaxAttempt-h.attemptBytes, MaxJob-h.jobBytes)
	for i, s := range steps {
		if left -= s.Size(); left < 0 || h.steps+int64(i) >= MaxAttemptSteps {
			return i
		}
	}
	return len(steps)
}

// addTx writes a chunk of steps, which takes the place of the small ones before it.
func addTx(ctx context.Context, tx db.Tx, of Attempt, steps []Step) error {
	text, err := lines(steps)
	if err != nil {
		return err
	}
	c := chunk{first: steps[0].N, last: steps[len(steps)-1].N}
	tail, err := tailTx(ctx, tx, of)
	if err != nil {
		return err
	}
	if n := absorbed(tail, len(text)); n > 0 {
		c.first = tail[n-1].first
		taken, err := takeTx(ctx, tx, of, c.first)
		if err != nil {
			return err
		}
		packed := make([][]byte, 0, len(taken))
		for _, t := range taken {
			packed = append(packed, t.data)
			c.kinds |= t.kinds
		}
		if text, err = merge(packed, text); err != nil {
			return err
		}
	}
	for _, s := range steps {
		c.kinds |= s.Kind.bit()
	}
	c.size, c.data = len(text), pack(text)
	return insertTx(ctx, tx, of, c)
}
