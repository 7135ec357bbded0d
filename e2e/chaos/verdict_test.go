package chaos

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/fleetboard/fleetboard/internal/eventlog"
)

// verdict collects what was found wrong.
type verdict struct {
	jobs   map[string]*record
	faults []string
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// walk follows a job through its events. They are in the order in which they
// were written: every one of them is written under a lock on the job or on its
// lease. Each change of status begins where the last one ended, each claim has
// the next epoch, and between a claim and its end only the holder writes.
func (v *verdict) walk(r *record) {
	status, holder, epoch := "", "", int64(0)
	accepted := map[int64]int{}
	for _, e := range r.events {
		from, to, changed := e.status()
		if changed {
			if from != status {
				v.fault("event %d begins at %q where the job was %q: %s", e.ID, from, status, r.history())
			}
			status = to
		}
		switch {
		case e.Type == string(eventlog.JobClaimed):
			if e.Epoch != epoch+1 {
				v.fault("epoch %d was claimed after %d: %s", e.Epoch, epoch, r.history())
			}
			epoch, holder = e.Epoch, e.Actor
		case e.Epoch != epoch && e.Epoch != 0:
			v.fault("event %d was written with epoch %d while %d was the last: %s", e.ID, e.Epoch, epoch, r.history())
		case e.ActorKind == "agent" && e.Actor != holder:
			v.fault("event %d was written by %s while %q held the job: %s", e.ID, e.Actor, holder, r.history())
		}
		if e.Type == string(eventlog.JobCompleted) || e.Type == string(eventlog.JobHandedIn) {
			accepted[e.Epoch]++
		}
		if changed && to != "assigned" && to != "running" {
			holder = ""
		}
	}
	if status != r.Status || epoch != r.Epoch {
		v.fault("the events lead to %s with epoch %d: %s", status, epoch, r.history())
	}
	v.completions(r, accepted)
}

// repoAtATime checks that no two jobs of a narrow repo were held at the same
// time. A claim comes after the commit that freed the repo, so its event does.
func (v *verdict) repoAtATime() {
	var all []event
	repoOf := map[string]*record{}
	for _, r := range v.jobs {
		if r.Repo != "" {
			repoOf[r.ID] = r
			all = append(all, r.events...)
		}
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Compare(a.ID, b.ID) })
	held := map[string]string{} // by repo, the job's key
	for _, e := range all {
		r := repoOf[e.JobID]
		_, to, changed := e.status()
		switch {
		case to == "assigned" && held[r.Repo] != "":
			v.fault("event %d: %s was claimed while %s was worked on, both of %s: %s", e.ID, r.Key, held[r.Repo], r.Repo, r.history())
		case to == "assigned":
			held[r.Repo] = r.Key
		case changed && to != "running" && held[r.Repo] == r.Key:
			held[r.Repo] = ""
		}
	}
}

// handedIn reports whether an attempt with this outcome handed its work in, whatever
// a person thought of it later.
func handedIn(outcome string) bool { return outcome == "completed" || outcome == "rejected" }

// completions checks that every accepted completion is one attempt's, and that a
// job is completed at most once in each of its lives.
func (v *verdict) completions(r *record, accepted map[int64]int) {
	completed, lives := 0, 1
	for _, e := range r.events {
		if _, to, ok := e.status(); ok && to == "completed" {
			completed++
		}
		if e.Type == string(eventlog.JobRetried) {
			lives++
		}
	}
	if completed > lives || r.Status == "completed" && completed == 0 {
		v.fault("it was completed %d times in %d lives: %s", completed, lives, r.history())
	}
	for epoch := range r.Epoch {
		a, ok := r.attempts[epoch+1]
		switch {
		case !ok:
			v.fault("epoch %d has no attempt: %s", epoch+1, r.history())
		case a.Outcome == "":
			v.fault("the attempt of epoch %d is open: %s", a.Epoch, r.history())
		case handedIn(a.Outcome) != (accepted[a.Epoch] == 1), accepted[a.Epoch] > 1:
			v.fault("epoch %d ended as %s and was completed %d times: %s", a.Epoch, a.Outcome, accepted[a.Epoch], r.history())
		}
	}
}

// ending checks that each job that was submitted is there once and ended as it was meant to.
func (v *verdict) ending(jobs []submitted, lines []line) {
	titles := map[string]int{}
	for _, r := range v.jobs {
		titles[r.Title]++
	}
	// A cancellation that was repeated because its outcome was unknown may have
	// been refused because it was done.
	cancelled := map[string]bool{}
	for _, l := range lines {
		if l.Verb == "cancel" {
			cancelled[l.Job] = true
		}
	}
	for title, n := range titles {
		if n != 1 {
			v.fault("%q was created %d times", title, n)
		}
	}
	for _, s := range jobs {
		r, ok := v.jobs[s.key]
		if !ok || r.Title != s.title {
			v.fault("%s (%s) was answered and is not there", s.key, s.title)
			continue
		}
		meant := "completed"
		if s.plan == planDoomed {
			meant = "failed"
		}
		if r.Status != meant && (r.Status != "aborted" || !cancelled[s.key]) {
			v.fault("it was to end %s: %s", meant, r.history())
		}
	}
}

// outcomes are how an attempt may have ended where the agent's final
// report was accepted; a directive of a person goes before a failure or a release.
var outcomes = map[string][]string{
	"complete":       {"completed", "rejected"},
	"complete again": {"completed", "rejected"},
	"fail":           {"failed", "cancelled", "paused"},
	"release":        {"released", "cancelled", "paused"},
	"ask":            {"asked", "cancelled", "paused"},
}

// agentLine holds an answer that an agent was given against what is there.
func (v *verdict) agentLine(l line) {
	switch l.Verb {
	case "register", "heartbeat", "odd":
		if !l.accepted() {
			v.fault("%s was answered %d %s to %s: %s", l.Who, l.Status, l.Code, l.Verb, l.Note)
		}
		return
	}
	refused := l.Status == http.StatusConflict && slices.Contains(
		[]string{"stale_epoch", "lease_expired", "already_ended", "cancelled", "paused"}, l.Code)
	otherwise := l.Verb == "complete otherwise" && l.accepted()
	unheard := l.Verb == "complete again" && !l.accepted()
	if !l.accepted() && (!refused || l.Verb == "claim") || otherwise || unheard {
		v.fault("%s was answered %d %s to %s of %s, epoch %d", l.Who, l.Status, l.Code, l.Verb, l.Job, l.Epoch)
		return
	}
	if !l.accepted() {
		return
	}
	r, ok := v.jobs[l.Job]
	if !ok {
		v.fault("%s is gone: %s was answered %d to %s", l.Job, l.Who, l.Status, l.Verb)
		return
	}
	a, ok := r.attempts[l.Epoch]
	allowed, ends := outcomes[l.Verb]
	if !ok || a.Agent != l.Who || ends && !slices.Contains(allowed, a.Outcome) {
		v.fault("%s was answered %d to %s with epoch %d, and the attempt is %q of %q: %s", l.Who, l.Status, l.Verb, l.Epoch,
			a.Outcome, a.Agent, r.history())
	}
}

// traces are the events that each of a person's verbs leaves, one of them.
var traces = map[string][]eventlog.Type{
	"create":     {eventlog.JobCreated},
	"pause":      {eventlog.JobPaused, eventlog.JobPauseRequested},
	"resume":     {eventlog.JobResumed},
	"block":      {eventlog.JobBlocked},
	"unblock":    {eventlog.JobUnblocked},
	"release":    {eventlog.JobReleased},
	"cancel":     {eventlog.JobCancelled, eventlog.JobCancelRequested},
	"retry":      {eventlog.JobRetried},
	"approve":    {eventlog.JobApproved},
	"reject":     {eventlog.JobRejected},
	"merge":      {eventlog.JobMerged},
	"merge fail": {eventlog.JobMergeFailed},
	"answer":     {eventlog.JobAnswered},
}

// personLine does the same for the person: what was accepted left its event.
func (v *verdict) personLine(l line) {
	if !l.accepted() {
		if l.Status != http.StatusConflict {
			v.fault("the person was answered %d %s to %s of %s: %s", l.Status, l.Code, l.Verb, l.Job, l.Note)
		}
		return
	}
	r, ok := v.jobs[l.Job]
	if !ok {
		v.fault("%s is gone: the person was answered %d to %s", l.Job, l.Status, l.Verb)
		return
	}
	if !slices.ContainsFunc(r.events, func(e event) bool { return slices.Contains(traces[l.Verb], eventlog.Type(e.Type)) }) {
		v.fault("the person was answered %d to %s, and no event says so: %s", l.Status, l.Verb, r.history())
	}
}
