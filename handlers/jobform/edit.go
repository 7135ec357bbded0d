package jobform

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/views/links"
)

// edit is the form of a job that is there, as it was typed.
type edit struct {
	form    jobForm
	key     string
	version int
	// base are digests of what the fields held when the form was opened, by name. A
	// field that could not be changed then has none.
	base  map[string]string
	retry bool
	// dropped are the typed fields that can no longer change, as merge found.
	dropped []string
}

// retryNext is the value of "then" with which a job is retried after it was saved.
const retryNext = string(jobs.ByRetry)

// parseEdit reads what was sent for a job; the query says with what the form was opened.
func parseEdit(key string, query, in url.Values) (edit, error) {
	e := edit{form: parseForm(in), key: key, base: map[string]string{}}
	e.retry = (query.Get("then") == retryNext || in.Get("then") == retryNext) && in.Get("only") == ""
	var err error
	if e.version, err = strconv.Atoi(in.Get("version")); err != nil {
		return edit{}, fault.Wrap(err, fault.Malformed, "The form names no version of the job.")
	}
	for _, pair := range strings.Fields(in.Get("base")) {
		name, digest, _ := strings.Cut(pair, "=")
		e.base[name] = digest
	}
	return e, nil
}

// begin is the form of a job that nobody has typed into.
func begin(j jobs.Job, retry bool) edit {
	e := edit{form: fillForm(j), key: j.Key, version: j.Version, base: map[string]string{}, retry: retry}
	locked := lockedFields(j)
	for _, f := range fields {
		if locked[f.name] == "" {
			e.base[f.name] = f.digest(e.form)
		}
	}
	return e
}

// url is where the form is sent.
func (e edit) url() string {
	if e.retry {
		return links.JobRetryWith(e.key)
	}
	return links.JobEdit(e.key, "")
}

// typed reports whether a person changed the field.
func (e edit) typed(f field) bool {
	was, editable := e.base[f.name]
	return editable && f.digest(e.form) != was
}

// changedIn reports whether the field of the job is another one than when the form was opened.
func (e edit) changedIn(now jobForm, f field) bool {
	was, editable := e.base[f.name]
	return editable && f.digest(now) != was
}

// clashes reports whether somebody has changed the job so that a person has to look
// again before theirs is saved.
func (e edit) clashes(now jobs.Job) bool {
	form, locked := fillForm(now), lockedFields(now)
	return slices.ContainsFunc(fields, func(f field) bool {
		return e.changedIn(form, f) || locked[f.name] != "" && e.typed(f)
	})
}

// lockedFields are the fields that cannot change while the job is what it is, each with
// the reason.
func lockedFields(j jobs.Job) map[string]string {
	locked := map[string]string{}
	if j.Status.Leased() {
		who := "An agent"
		if j.Lease != nil {
			who = j.Lease.Agent
		}
		for _, name := range needs {
			locked[name] = who + " works on it; this part can change once nobody does."
		}
	}
	for _, f := range fields {
		if jobs.IsSystemKind(j.Kind) && !slices.Contains([]string{"priority", "phase", "tags"}, f.name) {
			locked[f.name] = "The system made this job and decides what it does."
		}
	}
	if j.Status.Finished() && !jobs.Can(j.Status, jobs.ByRetry) {
		locked["depends_on"] = "It is over and waits for nothing any more."
	}
	return locked
}

// patch is the edit as the domain takes it, and what is wrong with it by field.
func (e edit) patch() (jobs.Patch, map[string]string) {
	n, all := e.form.job()
	p, wrong := jobs.Patch{Version: e.version, Spec: n.WithDefaults()}, map[string]string{}
	for _, f := range fields {
		if !e.typed(f) {
			continue
		}
		if text, is := all[f.name]; is {
			wrong[f.name] = text
		}
		p.Set = append(p.Set, f.of())
	}
	return p, wrong
}
