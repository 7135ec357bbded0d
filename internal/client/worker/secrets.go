package worker

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// secrets returns the worker's own, which no agent may hand in.
func (w *Worker) secrets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(append(slices.Clone(w.Forges.Secrets()), w.Enrolment, w.token), func(s string) bool { return s == "" })
}

// leaked looks for the values of secrets in what would leave this host with the work. Where
// there are some, or it cannot be known, nothing of the work leaves: it is put into quarantine,
// and what is said tells a person or the next attempt where to look.
func (a *attempt) leaked(ctx context.Context) (said string, found bool) {
	all := a.values()
	places, err := a.tree.Leaks(ctx, redact.NewSearch(all...))
	if len(places) > 0 {
		places, err = a.tree.Leaks(ctx, redact.NewSearch(a.notHadBefore(ctx, all)...))
	}
	if err == nil && len(places) == 0 {
		return "", false
	}
	if err != nil && ctx.Err() != nil { // stopped: what is saved then is searched again
		return "The work was not searched for the values of secrets: " + err.Error(), true
	}
	said = "The value of a secret stands in " + a.reporter.secret.Text(plainLine(strings.Join(places, ", "))) +
		". Nothing of the work has left the worker; another attempt begins without it."
	if err != nil {
		said = "The work could not be searched for the values of secrets, so nothing of it has left the worker: " + err.Error()
	}
	branch := a.tree.Branch
	if err := quarantine(ctx, a.tree); err != nil {
		a.w.Log.Error("work with a secret could not be put into quarantine: "+err.Error(), "job", a.job.Key, "branch", branch)
	}
	a.tree, a.commit = nil, ""
	return said, true
}

// values returns those of the job's secrets and the worker's own, in JSON.
func (a *attempt) values() (values []json.RawMessage) {
	in := readInput(a.job)
	for _, name := range a.job.SecretKeys {
		values = append(values, in[name])
	}
	for _, own := range a.w.secrets() {
		if raw, err := json.Marshal(own); err == nil { // it is a text
			values = append(values, raw)
		}
	}
	return values
}

// notHadBefore leaves out the values that the repository has held before.
func (a *attempt) notHadBefore(ctx context.Context, values []json.RawMessage) (rest []json.RawMessage) {
	for _, value := range values {
		var text string
		if json.Unmarshal(value, &text) != nil || !a.tree.HadBefore(ctx, text) {
			rest = append(rest, value)
		}
	}
	return rest
}

// withoutSecrets returns how an attempt ends whose saved work must be searched before it leaves:
// one that gives the job back does so all the same, and says why its work stays here.
func (a *attempt) withoutSecrets(ctx context.Context, end ending) ending {
	if _, handedIn := end.body.(*api.Completion); handedIn || end.body == nil || a.tree == nil {
		return end
	}
	said, found := a.leaked(ctx)
	if !found {
		return end
	}
	switch body := end.body.(type) {
	case *api.LeaseRelease:
		return release(body.Reason + " " + said)
	case *api.Failure:
		body.Error = redact.Cut(body.Error+"\n\n"+plainText(said), api.MaxFailureError)
		return end
	}
	return failure("other", said, true)
}
