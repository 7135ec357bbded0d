package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// flushEvery is how often the server gets what is new.
	flushEvery = 500 * time.Millisecond
	// linesPerSecond is how many lines of log an attempt may write, over ten seconds. What
	// comes beyond is counted and left out.
	linesPerSecond = 200
	// maxKept bounds the lines that wait for the server, maxSent those of one call.
	maxKept = 5000
	maxSent = 500
)

// reporter sends the server what happens in an attempt: steps, log lines, usage. It never
// makes the engine wait.
type reporter struct {
	lease  *lease
	api    *api.Client
	secret *redact.Redactor
	refuse func(job string, refused []string) // it gets usage that was refused

	mu       sync.Mutex
	lines    []api.NewLogLine
	seq      int
	allowed  float64   // lines that may come now
	last     time.Time // when allowed was reckoned
	now      func() time.Time
	leftOut  int
	steps    stepQueue
	progress api.ProgressReport
	dirty    bool
	usage    map[string]api.UsageEntry
	order    []string // ids of usage that the server has not got
	wake     signal.Signal
}

func newReporter(l *lease, connection *api.Client, secret *redact.Redactor, refuse func(job string, refused []string)) *reporter {
	return &reporter{lease: l, api: connection, secret: secret, refuse: refuse,
		allowed: 10 * linesPerSecond, last: time.Now(), now: time.Now,
		progress: api.ProgressReport{Job: l.job, Epoch: l.epoch}, usage: map[string]api.UsageEntry{}, wake: signal.New()}
}

// event takes what an engine did.
func (r *reporter) event(e engines.Event) {
	switch {
	case e.Step != "":
		r.step(e.Step)
	case e.Log != nil:
		r.log(e.Log.Level, e.Log.Event, e.Log.Message)
	case e.Usage != nil:
		r.used(e.Usage)
	case e.Did != nil:
		r.did(e.Did)
	}
}

// step says what is done now.
func (r *reporter) step(step string) {
	step = r.secret.Cut(plainLine(step), api.MaxProgressReportCurrentStep)
	r.change(func() { r.progress.CurrentStep = &step })
}

// percent says how much is done.
func (r *reporter) percent(n int) { r.change(func() { r.progress.ProgressPercent = &n }) }

// checkpoint keeps what a later attempt needs.
func (r *reporter) checkpoint(c json.RawMessage) { r.change(func() { r.progress.Checkpoint = c }) }

// model says what runs the attempt.
func (r *reporter) model(m *api.ModelRun) { r.change(func() { r.progress.Model = m }) }

func (r *reporter) change(do func()) {
	r.mu.Lock()
	do()
	r.dirty = true
	r.mu.Unlock()
	r.wake.Set()
}

// log writes a line to the log of the job.
func (r *reporter) log(level, event, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.allowed = min(r.allowed+now.Sub(r.last).Seconds()*linesPerSecond, 10*linesPerSecond)
	r.last = now
	if r.allowed < 1 || len(r.lines) >= maxKept {
		r.leftOut++
		return
	}
	r.allowed--
	r.tellLeftOut(now)
	r.add(now, level, event, message)
	r.wake.Set()
}

// tellLeftOut writes how many lines were left out, if any.
func (r *reporter) tellLeftOut(now time.Time) {
	if r.leftOut > 0 {
		r.add(now, "WARNING", "log.left_out", fmt.Sprintf("%d lines were left out: the agent writes too many at once.", r.leftOut))
		r.leftOut = 0
	}
}

// add keeps a line; its id makes that it is stored once, however often it is sent.
func (r *reporter) add(at time.Time, level, event, message string) {
	r.seq++
	message = r.secret.Cut(plainText(message), api.MaxNewLogLineMessage)
	if message == "" {
		message = " "
	}
	id := fmt.Sprintf("%d-%d", at.UnixNano(), r.seq)
	r.lines = append(
		r.lines,
		api.NewLogLine{
			ID:      &id,
			At:      &at,
			Level:   api.LogLevel(level),
			Event:   text(redact.Cut(plainLine(event), api.MaxNewLogLineEvent)),
			Message: message,
		},
	)
}

// used takes entries that have grown.
func (r *reporter) used(entries []transcript.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		if _, waits := r.usage[e.ID]; !waits {
			r.order = append(r.order, e.ID)
		}
		r.usage[e.ID] = usageEntry(e)
	}
	r.wake.Set()
}

// run sends to the server, until ctx ends.
func (r *reporter) run(ctx context.Context) {
	for {
		select {
		case <-r.wake.C():
		case <-ctx.Done():
			return
		}
		if !r.flush(ctx) {
			_ = signal.Sleep(ctx, time.Second) // the loop looks at ctx
			r.wake.Set()
		}
		if signal.Sleep(ctx, flushEvery) != nil {
			return
		}
	}
}

// flush sends what waits; it reports whether the server decided about it.
func (r *reporter) flush(ctx context.Context) bool {
	lines, progress := r.waiting()
	if len(lines) > 0 {
		answer, err := r.api.WriteLogsWithResponse(ctx, api.LogBatch{Job: r.lease.job, Epoch: r.lease.epoch, Lines: lines})
		if !api.Decided(err) {
			r.again(progress)
			return false
		}
		r.drop(len(lines))
		if err == nil && answer.JSON200 != nil {
			r.lease.obey(answer.JSON200.Directive, answer.JSON200.Reason)
		}
	}
	if !r.flushSteps(ctx) {
		r.again(progress)
		return false
	}
	if progress == nil {
		return true
	}
	answer, err := r.api.ReportProgressWithResponse(ctx, *progress)
	if !api.Decided(err) {
		r.again(progress)
		return false
	}
	if isRefusedForForm(err) {
		r.log("ERROR", "progress.refused", "The progress was refused: "+err.Error())
		return r.sendUsageAlone(ctx, progress)
	}
	if err == nil && answer.JSON200 != nil {
		r.lease.obey(answer.JSON200.Directive, answer.JSON200.Reason)
		r.tellRefused(refusedUsage(answer.JSON200.UsageResults))
	}
	return true
}

// sendUsageAlone sends the usage of a report that was refused: it may not be what was wrong with it. It
// reports whether the server decided about it.
func (r *reporter) sendUsageAlone(ctx context.Context, p *api.ProgressReport) bool {
	if p.Usage == nil {
		return true
	}
	refused, err := sendUsage(ctx, r.api, api.UsageReport{Job: &p.Job, Epoch: &p.Epoch, Entries: *p.Usage})
	if err != nil {
		r.again(p)
		return false
	}
	r.tellRefused(refused)
	return true
}

// tellRefused says in the job's log, and to the worker, which entries of usage were refused.
func (r *reporter) tellRefused(refused []string) {
	for _, why := range refused {
		r.log("ERROR", "usage.refused", why)
	}
	r.refuse(r.lease.job, refused)
}

// waiting returns what the server has not got: lines stay until they are dropped.
func (r *reporter) waiting() ([]api.NewLogLine, *api.ProgressReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines[:min(len(r.lines), maxSent)]
	if len(r.lines) > maxSent || len(r.order) > api.MaxProgressReportUsage {
		r.wake.Set()
	}
	if !r.dirty && len(r.order) == 0 {
		return lines, nil
	}
	p := r.progress
	r.dirty = false
	if entries := r.entries(api.MaxProgressReportUsage); len(entries) > 0 {
		p.Usage = &entries
	}
	return lines, &p
}

// entries takes up to n entries out, in the order in which they were first reported.
func (r *reporter) entries(n int) api.UsageEntries {
	n = min(n, len(r.order))
	all := make(api.UsageEntries, 0, n)
	for _, id := range r.order[:n] {
		all = append(all, r.usage[id])
		delete(r.usage, id)
	}
	r.order = r.order[n:]
	return all
}

// drop forgets lines that the server has decided about.
func (r *reporter) drop(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append([]api.NewLogLine(nil), r.lines[n:]...)
}

// again puts back what the server did not get, if anything. Usage that has grown meanwhile stays.
func (r *reporter) again(p *api.ProgressReport) {
	if p == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty = true
	if p.Usage == nil {
		return
	}
	for _, e := range *p.Usage {
		if _, grown := r.usage[e.ID]; !grown {
			r.order = append(r.order, e.ID)
			r.usage[e.ID] = e
		}
	}
}

// rest returns what the server has not got when an attempt ends: it goes with the final
// report.
func (r *reporter) rest() ([]api.NewLogLine, api.UsageEntries) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tellLeftOut(r.now())
	return r.lines, r.entries(len(r.order))
}
