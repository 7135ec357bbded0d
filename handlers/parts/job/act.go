package job

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/views/ui"
)

// ReadAction reads the form of a verb.
func ReadAction(in url.Values, v Verb) (actions.Action, error) {
	version, err := ReadVersion(in)
	if err != nil {
		return actions.Action{}, err
	}
	a := actions.Action{Verb: v.By, Reason: in.Get("reason"), Version: version,
		Commit: strings.TrimSpace(in.Get("commit")), URL: strings.TrimSpace(in.Get("url"))}
	if v.By == jobs.ByAnswer {
		a.Reason = in.Get("answer")
	}
	if !web.Fits(a.Commit, jobs.MaxCommit) {
		return a, fault.Invalid("commit", "It must have at most %d characters of text.", jobs.MaxCommit)
	}
	if !web.Fits(a.URL, jobs.MaxURL) {
		return a, fault.Invalid("url", "It must have at most %d characters of text.", jobs.MaxURL)
	}
	return a, nil
}

// NotDone says why a verb no longer fits.
func NotDone(job jobs.Job, v Verb) ui.Toast {
	t := ui.Toast{Tone: ui.Warn, Title: job.Key + " has changed since you saw it", Text: "This is how it is now. Look again, then decide."}
	if !job.Can(v.By) {
		t.Title = job.Key + " is " + strings.ToLower(job.Status.Word()) + " now"
		t.Text = "“" + v.Label + "” is not possible then."
	}
	return t
}

// ReadVersion returns the version that a form was made on; nil where it names none.
func ReadVersion(in url.Values) (*int, error) {
	text := in.Get("version")
	if text == "" {
		return nil, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		return nil, fault.Wrap(err, fault.Malformed, "The version is not a number.")
	}
	return &v, nil
}

// Outdated reports whether an action was refused because the job is no longer
// what its page showed.
func Outdated(err error) bool {
	return fault.Is(err, fault.VersionConflict) || fault.Is(err, fault.InvalidTransition)
}
