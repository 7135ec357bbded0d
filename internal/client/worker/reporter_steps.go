package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
	"github.com/fleetboard/fleetboard/internal/redact"
)

const (
	// maxStepText is how many bytes of a step's text are sent, those in the middle of a longer one are left out; maxRead
	// is how much of it is looked at.
	maxStepText = 16_000
	maxRead     = 1 << 20
	// maxKeptSteps and maxKeptText bound the steps that wait for the server, maxSentText those of one call.
	maxKeptSteps = 5000
	maxKeptText  = 8 << 20
	maxSentText  = 512 << 10
	// maxJoined is how long outputs are joined into one step.
	maxJoined = 8000
)

// stepQueue are the steps that the server has not got. They get their numbers when they are sent.
type stepQueue struct {
	list    []api.NewStep
	bytes   int
	last    int64 // the number of the last one that the server has
	unknown bool  // the process before this one may have sent some
	sent    int   // of those at the beginning the server may have some: they stay as they are
	leftOut int
}

// did takes what the engine did.
func (r *reporter) did(steps []transcript.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range steps {
		r.steps.add(r.newStep(s))
	}
	r.wake.Set()
}

// newStep returns a step as the API takes it, without secrets.
func (r *reporter) newStep(s transcript.Step) api.NewStep {
	body := r.secret.Text(plainText(cutMiddle(s.Text, maxRead)))
	title := plainLine(r.secret.Text(s.Title))
	if strings.TrimSpace(title) == "" {
		title = firstWords(body)
	}
	if title == "" {
		title = s.Tool + s.Path
	}
	step := api.NewStep{Kind: api.StepKind(s.Kind), At: &s.At, Title: redact.Cut(title, api.MaxNewStepTitle)}
	if body = cutMiddle(body, maxStepText); body != title {
		step.Text = text(body)
	}
	step.Tool = text(r.secret.Cut(plainLine(s.Tool), api.MaxNewStepTool))
	step.Path = text(r.secret.Cut(plainLine(s.Path), api.MaxNewStepPath))
	if s.Tokens > 0 {
		step.Tokens = new(min(s.Tokens, api.MaxNewStepTokens))
	}
	step.CostUSD = text(s.Cost)
	return step
}

// firstWords returns the first line of a text that says something, as a title.
func firstWords(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(plainLine(line)); line != "" {
			return redact.Cut(line, api.MaxNewStepTitle)
		}
	}
	return ""
}

// cutMiddle leaves out what is in the middle of a text that is too long: its end says mostly what came of it.
func cutMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most/2, len(text)-most/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes are left out …\n%s", text[:head], tail-head, text[tail:])
}

// size returns about how many bytes a step takes of a call.
func size(s api.NewStep) int { return 200 + len(s.Title) + len(said(s.Text)) + len(said(s.Path)) }

// add keeps a step. Outputs of one tool that come one after the other, line by line, are one step.
func (q *stepQueue) add(s api.NewStep) {
	if n := len(q.list) - 1; n >= q.sent && q.joins(q.list[n], s) {
		q.bytes -= size(q.list[n])
		q.list[n].Text = text(words(q.list[n]) + "\n" + words(s))
		q.bytes += size(q.list[n])
		return
	}
	if len(q.list) >= maxKeptSteps || q.bytes >= maxKeptText {
		q.leftOut++
		return
	}
	if q.leftOut > 0 {
		q.keep(api.NewStep{Kind: api.StepKind(transcript.Output), At: s.At,
			Title: fmt.Sprintf("%d steps are left out: the server was away for too long.", q.leftOut)})
		q.leftOut = 0
	}
	q.keep(s)
}

func (q *stepQueue) keep(s api.NewStep) {
	q.list = append(q.list, s)
	q.bytes += size(s)
}

// words returns all that a step says.
func words(s api.NewStep) string {
	if s.Text != nil {
		return *s.Text
	}
	return s.Title
}

// joins reports whether a step is what the one before it goes on with.
func (q *stepQueue) joins(before, s api.NewStep) bool {
	lines := []string{"stdout", "stderr"}
	return s.Kind == api.StepKind(transcript.Output) && before.Kind == s.Kind && said(before.Tool) == said(s.Tool) &&
		slices.Contains(lines, said(s.Tool)) && len(words(before))+len(words(s)) < maxJoined
}

// next returns the steps of the next call, with their numbers.
func (q *stepQueue) next() []api.NewStep {
	n, bytes := 0, 0
	for n < len(q.list) && n < api.MaxStepBatchSteps && (n == 0 || bytes+size(q.list[n]) <= maxSentText) {
		bytes += size(q.list[n])
		n++
	}
	q.sent = max(q.sent, n)
	part := slices.Clone(q.list[:n])
	for i := range part {
		part[i].N = q.last + 1 + int64(i)
	}
	return part
}

// drop forgets steps that the server has decided about.
func (q *stepQueue) drop(n int) {
	for _, s := range q.list[:n] {
		q.bytes -= size(s)
	}
	q.list = append([]api.NewStep(nil), q.list[n:]...)
	q.sent = max(q.sent-n, 0)
}

// flushSteps sends steps that wait; it reports whether the server decided about them.
func (r *reporter) flushSteps(ctx context.Context) bool {
	if r.waitingSteps() == 0 {
		return true
	}
	if !r.learnLast(ctx) {
		return false
	}
	r.mu.Lock()
	part := r.steps.next()
	r.mu.Unlock()
	answer, err := r.api.WriteStepsWithResponse(ctx, api.StepBatch{Job: r.lease.job, Epoch: r.lease.epoch, Steps: part})
	if !api.Decided(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if api.Refused(err, api.ProblemCodeStepGap) {
		r.steps.unknown = true // such as after a restore of the server: it is asked
		return false
	}
	r.steps.drop(len(part))
	if err == nil {
		r.steps.last = part[len(part)-1].N
		if answer.JSON200 != nil {
			r.lease.obey(answer.JSON200.Directive, answer.JSON200.Reason)
		}
	}
	if len(r.steps.list) > 0 {
		r.wake.Set()
	}
	return true
}

func (r *reporter) waitingSteps() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.steps.list)
}

// learnLast asks the server which step it has last, where this process cannot know. It reports whether it knows now.
func (r *reporter) learnLast(ctx context.Context) bool {
	r.mu.Lock()
	unknown := r.steps.unknown
	r.mu.Unlock()
	if !unknown {
		return true
	}
	answer, err := r.api.ListStepsWithResponse(ctx, r.lease.job, r.lease.epoch, &api.ListStepsParams{Limit: new(1)})
	if !api.Decided(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps.unknown = false
	if err == nil && answer.JSON200 != nil {
		r.steps.last = answer.JSON200.Last
	}
	return true
}

// restSteps returns the steps that the server has not got when an attempt ends, in the bodies of calls.
func (r *reporter) restSteps(job string) (calls []api.StepBatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.steps
	if rest.unknown {
		return nil // their numbers are not known
	}
	for len(rest.list) > 0 {
		part := rest.next()
		calls = append(calls, api.StepBatch{Job: job, Epoch: r.lease.epoch, Steps: part})
		rest.drop(len(part))
		rest.last += int64(len(part))
	}
	return calls
}
