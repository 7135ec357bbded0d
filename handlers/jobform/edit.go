package jobform

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// edit is the form of a job that is there, as it was typed.
type edit struct {
	form    ui.Form
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
	e := edit{form: fields.Read(in), key: key, base: map[string]string{}}
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

// begin returns the form of a job that nobody has typed into.
func begin(j jobs.Job, retry bool) edit {
	e := edit{form: fill(j), key: j.Key, version: j.Version, base: map[string]string{}, retry: retry}
	locked := lockedFields(j)
	for _, name := range editable {
		if locked[name] == "" {
			e.base[name] = digest(e.form, name)
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

// editable are the fields that an edit may change.
var editable = func() (names []string) {
	for _, f := range fields {
		if !slices.Contains([]string{"inputs", "secrets", "product"}, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}()

// digest stands for what a field holds. A textarea loses empty lines at its beginning.
func digest(f ui.Form, name string) string {
	sum := sha256.Sum256([]byte(strings.TrimLeft(strings.Join(f.Typed[name], "\x00"), "\n")))
	return hex.EncodeToString(sum[:8])
}

// typed reports whether a person changed the field.
func (e edit) typed(name string) bool { return e.changedIn(e.form, name) }

// changedIn reports whether the field of a form is another one than when this one was opened.
func (e edit) changedIn(f ui.Form, name string) bool {
	was, editable := e.base[name]
	return editable && digest(f, name) != was
}

// clashes reports whether somebody has changed the job so that a person has to look
// again before theirs is saved.
func (e edit) clashes(now jobs.Job) bool {
	form, locked := fill(now), lockedFields(now)
	return slices.ContainsFunc(editable, func(name string) bool {
		return e.changedIn(form, name) || locked[name] != "" && e.typed(name)
	})
}

// lockedFields returns the fields that cannot change while the job is what it is, each with
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
	for _, name := range editable {
		if jobs.IsSystemKind(j.Kind) && !slices.Contains([]string{"priority", "phase", "tags"}, name) {
			locked[name] = "The system made this job and decides what it does."
		}
	}
	if j.Status.Finished() && !jobs.Can(j.Status, jobs.ByRetry) {
		locked["depends_on"] = "It is over and waits for nothing any more."
	}
	return locked
}

// patch returns the edit as the domain takes it. Validation names the typed fields that make no
// sense.
func (e edit) patch() (jobs.Patch, error) {
	n, err := fields.Value(e.form)
	p, problems := jobs.Patch{Version: e.version, Spec: n.WithDefaults()}, fault.Problems{}
	for _, name := range editable {
		if !e.typed(name) {
			continue
		}
		if why := fault.From(err).Fields[name]; why != "" {
			problems.Add(name, "%s", why)
		}
		if name == "engine" {
			name = "capabilities"
		}
		p.Set = append(p.Set, name)
	}
	return p, problems.Err()
}
