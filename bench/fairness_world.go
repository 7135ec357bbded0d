package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Sizes of what the one credential queries.
const (
	fairnessSpent    = 2_000  // jobs with usage
	fairnessReady    = 10_000 // jobs of each kind beside them
	fairnessMessages = 100_000
	fairnessLogLines = 20_000
	fairnessBlob     = 64 << 20
	fairnessLeases   = 60
	// fairnessAttacker numbers the agent with that credential.
	fairnessAttacker = 900
)

// fair is the server with two workspaces: that of the one credential, which has much of
// everything, and another one.
type fair struct {
	*environment

	web    *web
	tokens map[credential]string
	beside []*other
	inputs map[string]worst
	calls  atomic.Int64 // so far, of the one credential
	owners []*caller    // of the workspaces, none of them the one credential
}

func (f *fair) close() {
	for i, o := range f.beside {
		f.owners[i].close()
		for _, a := range o.agents {
			a.close()
		}
	}
}

// lay lays jobs ready for the others.
func (f *fair) lay(ctx context.Context) error {
	job := `,{"title":"A job for the others","priority":10}`
	body := []byte(`{"jobs":[` + strings.Repeat(job, f.sized(fairnessLaid, 100))[1:] + `]}`)
	for _, owner := range f.owners {
		if _, err := owner.must(http.MethodPost, "/api/v1/jobs/batch", body, http.StatusCreated); err != nil {
			return err
		}
	}
	return signal.Sleep(ctx, fairnessWarming)
}

// fairness fills the server.
func (w *web) fairness(ctx context.Context) (*fair, error) {
	f := &fair{environment: w.environment, web: w, tokens: map[credential]string{}}
	s := w.environment
	if err := w.asOwner(ctx, func(owner *pgx.Conn) error { return fillMessages(ctx, owner, s.sized(fairnessMessages, 1000)) }); err != nil {
		return nil, err
	}
	if err := w.spend(ctx, s.sized(fairnessSpent, 100)); err != nil {
		return nil, err
	}
	n := s.sized(fairnessReady, 100)
	if err := w.fill(ctx, load{ready: n, waiting: n, completed: n}); err != nil {
		return nil, err
	}
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return nil, err
	}
	enrol, err := w.first(ctx, "enrolment-token")
	if err != nil {
		return nil, err
	}
	f.tokens[asOwner], f.tokens[asEnrolment] = owner.token, enrol.token
	if err := f.join(ctx, enrol, owner); err != nil {
		return nil, err
	}
	names, err := f.names(ctx, enrol, owner)
	if err != nil {
		return nil, err
	}
	f.inputs = worstInputs(names)
	if err := f.second(ctx); err != nil {
		return nil, err
	}
	if err := w.awaitWords(ctx, owner); err != nil {
		return nil, err
	}
	return f, w.settle(ctx)
}

// join adds agents to those beside, of the workspace of these credentials.
func (f *fair) join(ctx context.Context, enrol, owner *caller) error {
	o := &other{}
	for i := range fairnessAgents {
		token, err := registerOne(enrol, i, i/10, 10)
		if err != nil {
			return err
		}
		o.agents = append(o.agents, &agent{name: agentName(i), caller: f.web.caller(ctx, token)})
	}
	made, err := owner.must(http.MethodPost, "/api/v1/jobs",
		[]byte(`{"title":"A job that is read","priority":0,"capabilities":["nobody:0"]}`), http.StatusCreated)
	if err != nil {
		return err
	}
	o.job, err = readField(made.body, "key")
	f.beside = append(f.beside, o)
	return err
}

// readField reads a field of an answer as text.
func readField(body []byte, field string) (string, error) {
	var fields map[string]any
	err := json.Unmarshal(body, &fields)
	return fmt.Sprint(fields[field]), err
}

// second makes the other workspace, with an owner and agents of its own, and another owner
// of the first one.
func (f *fair) second(ctx context.Context) error {
	beside, owner, enrol := f.web.caller(ctx, secrets.New(secrets.Person)), f.web.caller(ctx, secrets.New(secrets.Person)),
		f.web.caller(ctx, secrets.New(secrets.Enrolment))
	err := f.web.asOwner(ctx, func(db *pgx.Conn) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			for _, sql := range []string{
				`INSERT INTO workspace (id, slug, name) VALUES ('01900003-0000-7000-8000-000000000000', 'beside', 'Beside')`,
				`INSERT INTO job_number (workspace_id) SELECT id FROM workspace WHERE slug = 'beside'`,
				`INSERT INTO product (workspace_id, id, name) SELECT id, gen_random_uuid(), 'default' FROM workspace WHERE slug = 'beside'`,
				`INSERT INTO account (id, email, name) SELECT w.id, w.slug || '@example.org', 'Owner of ' || w.name FROM workspace w`,
				`INSERT INTO membership (workspace_id, account_id, role) SELECT id, id, 'owner' FROM workspace`,
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, `INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, account_id, created_by)
				SELECT w.id, gen_random_uuid(), t.kind, t.kind, t.hash, '', CASE t.kind WHEN 'person' THEN w.id END, 'Beside'
				FROM workspace w
				JOIN (VALUES ('person', $1::bytea, false), ('person', $2, true), ('enrolment', $3, true)) t (kind, hash, beside)
					ON t.beside = (w.slug = 'beside')`, secrets.Hash(beside.token), secrets.Hash(owner.token), secrets.Hash(enrol.token))
			return err
		})
	})
	if err != nil {
		return err
	}
	defer enrol.close()
	f.owners = []*caller{beside, owner}
	return f.join(ctx, enrol, owner)
}

// names makes what the calls are about, and gives its names.
func (f *fair) names(ctx context.Context, enrol, owner *caller) (*named, error) {
	token, err := registerOne(enrol, fairnessAttacker, fairnessAttacker, 1)
	if err != nil {
		return nil, err
	}
	f.tokens[asAgent] = token
	attacker := &agent{name: agentName(fairnessAttacker), caller: f.web.caller(ctx, token)}
	defer attacker.close()
	n := &named{filled: f.web.filled, spent: f.sized(fairnessSpent, 100)}
	for len(n.leases) < fairnessLeases {
		got, err := attacker.claim(nil, fairnessLeases-len(n.leases))
		if err != nil || len(got) == 0 {
			return nil, fmt.Errorf("%d leases: %w", len(n.leases), err)
		}
		n.leases = append(n.leases, got...)
	}
	for from := 0; from < f.sized(fairnessLogLines, 1000); from += 1000 {
		lines := logLines(n.leases[0], from, 1000, 100)
		if _, err := attacker.must(http.MethodPost, "/api/v1/fleet/logs", lines, http.StatusOK); err != nil {
			return nil, err
		}
	}
	steps := fmt.Appendf(nil, `{"job":%q,"epoch":%d%s}`, n.leases[0].key, n.leases[0].epoch, makeSteps(500, 2000))
	if _, err := attacker.must(http.MethodPost, "/api/v1/fleet/steps", steps, http.StatusOK); err != nil {
		return nil, err
	}
	for _, one := range []struct {
		method, path, body string
		status             int
		into               *string
		field              string
	}{
		{"PUT", "/products/spare", `{}`, http.StatusCreated, nil, ""},
		{"POST", "/exports", `{"name":"spare","source":"events"}`, http.StatusOK, nil, ""},
		{"POST", "/budgets", `{"name":"Spare","scope":"milestone","phase":"spare","period":"once","limit_usd":"1000"}`,
			http.StatusCreated, &n.budget, "id"},
		{"POST", "/budgets", `{"name":"Other","scope":"milestone","phase":"other","period":"once","limit_usd":"1000"}`,
			http.StatusCreated, &n.another, "id"},
		{"POST", "/messages", `{"type":"custom.x","to":{"role":"orchestrator"},"correlation_id":"spare"}`,
			http.StatusCreated, &n.message, "id"},
		{"POST", "/jobs", wideJob(), http.StatusCreated, &n.wide, "key"},
		{"POST", "/webhooks", `{"url":"https://hooks.invalid/","types":["webhook.disabled"]}`, http.StatusCreated, nil, ""},
	} {
		got, err := owner.must(one.method, "/api/v1"+one.path, []byte(one.body), one.status, http.StatusOK)
		if err != nil {
			return nil, err
		}
		if one.into != nil {
			if *one.into, err = readField(got.body, one.field); err != nil {
				return nil, err
			}
		}
	}
	got, err := owner.must(http.MethodGet, "/api/v1/webhooks", nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	var hooks struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(got.body, &hooks); err != nil {
		return nil, err
	}
	n.webhook = hooks.Items[0].ID
	got, err = owner.must(http.MethodGet, "/api/v1/exports/spare/next?limit=1", nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	if n.position, err = readField(got.body, "position"); err != nil {
		return nil, err
	}
	got, err = owner.must(http.MethodPut, "/api/v1/blobs", bytes.Repeat([]byte("blob"), fairnessBlob/4), http.StatusCreated)
	if err != nil {
		return nil, err
	}
	n.blob, err = readField(got.body, "sha256")
	return n, err
}

// wideJob depends on as many jobs as it may, and has the longest texts.
func wideJob() string {
	var deps []string
	for i := range 100 {
		deps = append(deps, fmt.Sprintf("%q", fmt.Sprint("L-", i+1)))
	}
	return fmt.Sprintf(`{"title":"Wide","priority":0,"capabilities":["nobody:0"],"depends_on":[%s],"body":%q}`, strings.Join(deps, ","),
		strings.Repeat("> - `word` *and* ", 90_000/17))
}

// logLines are so many lines of words, in a call of their own.
func logLines(l lease, from, n, words int) []byte {
	body := append(bytes.TrimSuffix(l.append(nil, ""), []byte("}")), `,"lines":[`...)
	for i := range n {
		body = fmt.Appendf(body, `%s{"level":"INFO","message":"line %d of branch/%d.go`, []string{"", ","}[min(i, 1)], from+i, i%97)
		for w := range words / 10 {
			body = fmt.Appendf(body, ` word%d`, (i*7+w)%9973)
		}
		body = append(body, `"}`...)
	}
	return append(body, `]}`...)
}

// makeSteps returns so many steps of words, as a field of a call.
func makeSteps(n, words int) []byte {
	body := []byte(`,"steps":[`)
	for i := range n {
		body = fmt.Appendf(body, `%s{"n":%d,"kind":"tool","title":"step %d","text":"branch/%d.go`, []string{"", ","}[min(i, 1)], i+1, i+1, i%97)
		for w := range words / 10 {
			body = fmt.Appendf(body, ` word%d`, (i*7+w)%9973)
		}
		body = append(body, `"}`...)
	}
	return append(body, ']')
}

// awaitWords returns once jobs are found by the words of those that were made last.
func (w *web) awaitWords(ctx context.Context, owner *caller) error {
	for late := time.Now().Add(time.Minute); ; {
		got, err := owner.must(http.MethodGet, "/api/v1/search/jobs?q=Wide", nil, http.StatusOK)
		if err != nil || bytes.Contains(got.body, []byte(`"Wide"`)) {
			return err
		}
		if time.Now().After(late) {
			return fmt.Errorf("the words of jobs are not written: %.300s", got.body)
		}
		if err := signal.Sleep(ctx, fairnessWarming); err != nil {
			return err
		}
	}
}

// chosen returns the calls with these names, all of them where none is given.
func (f *fair) chosen(names string) ([]string, error) {
	var all []string
	for name := range f.inputs {
		all = append(all, name)
	}
	slices.Sort(all)
	if names == "" {
		return all, nil
	}
	list := strings.Split(names, ",")
	for _, name := range list {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("FLEETBOARD_FAIRNESS: there is no call %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	return list, nil
}
