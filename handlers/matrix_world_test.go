package handlers_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// The canary is in each text of the first workspace but for the names that are
// in the request, which an answer may repeat.
const canary = "canary7q"

// asked returns the name of a row that the routes request.
func asked(rest string) string { return "nest" + rest }

// matrix is a site with two workspaces, and everybody who may come.
type matrix struct {
	*handlertest.Site
	t        *testing.T
	deps     handlers.Deps
	kept     *dbtest.Kept
	first    ids.ID
	visitors []visitor
	// rows fill in parameters, by name, or by the part before and the name.
	rows map[string]string
	// special are whole paths, fields what every form sends.
	special map[string]string
	fields  url.Values
	// leaves is what logs the browser out, private what is there for one person
	// only.
	leaves, private map[string]bool
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	done := make(chan struct{})
	close(done) // streams end at once
	m := &matrix{t: t}
	m.Site = handlertest.OwnedSite(t, func(d *handlers.Deps) { d.Done = done })
	m.deps = m.Deps
	m.deps.Coordinator = coordinator.New(m.DB, servers.NewName(), coordinator.Work{}, notifier.New(transport.Poll{}, m.Log), m.Log)
	m.Server = handlers.New(m.deps)
	m.first, _ = ids.Parse(dbfactory.Text(t, m.DB, "SELECT id::text FROM workspace"))
	m.fill()
	second := dbfactory.Workspace(t, m.DB)

	m.visitors = append(m.visitors, visitor{name: "nobody", foreign: true}, visitor{name: "a made-up session", cookie: strings.Repeat("x", 43), foreign: true})
	for _, role := range []tenancy.Role{tenancy.RoleViewer, tenancy.RoleMember, tenancy.RoleAdmin, tenancy.RoleOwner} {
		m.person(m.first, role, "Canary7q", false)
		m.person(second, role, "Other", true)
	}
	for name, token := range m.tokens() {
		m.visitors = append(m.visitors, visitor{name: name, bearer: token, foreign: true},
			visitor{name: name + " as a cookie", cookie: token, foreign: true})
	}
	m.point()
	m.kept = dbtest.Keep(t, m.DB, m.first)
	return m
}

// begin goes back to the rows that were kept, with a server that remembers
// nothing.
func (m *matrix) begin() {
	m.t.Helper()
	m.kept.Restore()
	m.Server = handlers.New(m.deps)
}

// person makes a member with a role, logs it in, and keeps a session that ended.
func (m *matrix) person(workspace ids.ID, role tenancy.Role, name string, foreign bool) {
	m.t.Helper()
	id, email := ids.New(), strings.ToLower(name)+"-"+string(role)+"@example.org"
	dbfactory.Exec(m.t, m.DB, "INSERT INTO account (id, email, name, password_hash) SELECT $1, $2, $3, max(password_hash) FROM account",
		id, email, name+" "+string(role))
	dbfactory.Exec(m.t, m.DB, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, $3)", workspace, id, role)
	label := string(role)
	if foreign {
		label += " of another workspace"
	}
	ended := m.session(email)
	m.Cookies = map[string]*http.Cookie{"sid": {Name: "sid", Value: ended}}
	m.Post("/logout", url.Values{})
	m.visitors = append(m.visitors, visitor{name: label + " who logged out", cookie: ended, foreign: true},
		visitor{name: label, cookie: m.session(email), foreign: foreign,
			who: tenancy.Principal{Kind: tenancy.KindPerson, Role: role, Account: id, Workspace: workspace}})
}

// session logs an account in and gives its cookie.
func (m *matrix) session(email string) string {
	m.t.Helper()
	m.Cookies = map[string]*http.Cookie{}
	handlertest.WantRedirect(m.t, m.Post("/login", url.Values{"email": {email}, "password": {handlertest.OwnerPassword}}), "/board")
	return m.Cookies["sid"].Value
}

// tokens are credentials of the other edge: no page may know them.
func (m *matrix) tokens() map[string]string {
	return map[string]string{"a person's token": m.issue(tenancy.KindPerson), "an enrolment token": m.issue(tenancy.KindEnrolment),
		"an agent's token": m.rows["agent token"]}
}

// issue makes a token of the first owner.
func (m *matrix) issue(kind tenancy.Kind) string {
	m.t.Helper()
	account, _ := ids.Parse(dbfactory.Text(m.t, m.DB, "SELECT account_id::text FROM membership WHERE workspace_id = $1 ORDER BY created_at LIMIT 1", m.first))
	who, err := m.Accounts.Workspaces.Person(m.t.Context(), account, m.first)
	if err != nil {
		m.t.Fatal(err)
	}
	token, err := m.Accounts.Tokens.Issue(m.t.Context(), who, tokens.NewToken{Kind: kind, Name: "canary7q"})
	if err != nil {
		m.t.Fatal(err)
	}
	return token
}

// fill makes a workspace in which every text sings.
func (m *matrix) fill() {
	m.t.Helper()
	for _, sql := range []string{"UPDATE workspace SET name = 'Canary7q works', slug = 'canary7q'",
		"UPDATE account SET name = 'Canary7q Owner', email = 'canary7q@example.org'",
		"UPDATE access_token SET name = 'canary7q ' || name"} {
		dbfactory.Exec(m.t, m.DB, sql)
	}
	calls := api.New(api.Deps{Jobs: m.Jobs, Attempts: m.Attempts, JobLogs: m.JobLogs, Transcripts: m.Transcripts, Fleet: m.Fleet, Dispatch: m.Dispatch, Screens: m.Screens, Events: m.Events,
		Blobs: m.deps.Blobs, Estimates: estimates.New(m.DB), Tokens: m.Accounts.Tokens, Log: m.Log})
	call := func(token, method, path string, body any) map[string]any {
		m.t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			m.t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(m.t.Context(), method, api.BasePath+path, strings.NewReader(string(raw)))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		calls.ServeHTTP(w, r)
		if w.Code >= 300 {
			m.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		var answer map[string]any
		if err := json.NewDecoder(w.Body).Decode(&answer); err != nil && err != io.EOF {
			m.t.Fatal(err)
		}
		return answer
	}
	type object = map[string]any
	owner, enrolment := m.issue(tenancy.KindPerson), m.issue(tenancy.KindEnrolment)
	for _, name := range []string{canary + "-product", asked("-spare")} {
		call(owner, "PUT", "/products/"+name, object{"repos": []string{canary + "-repo-" + name}})
	}
	for _, name := range []string{canary + "-agent", asked("-agent")} {
		m.rows = map[string]string{"agent token": call(enrolment, "PUT", "/agents/"+name, object{"boot_id": canary, "model": canary, "capabilities": []string{"has:" + canary},
			"max_concurrent_jobs": 10, "factory": object{"name": asked("-host"), "host": canary + ".example", "os": canary, "engines": []string{canary},
				"seats": 10, "repos": []object{{"name": canary + "-repo-" + canary + "-product"}}}})["token"].(string)}
	}
	agent := m.rows["agent token"]
	for i, more := range []object{{"priority": 9}, {"priority": 8}, {"priority": 7}, {"depends_on": []string{asked("-1")}}, {}} {
		body := object{"title": "Canary7q title", "key": asked("-" + strconv.Itoa(i+1)), "body": "canary7q body", "phase": canary, "tags": []string{canary},
			"acceptance": []string{"canary7q criterion"}, "product": canary + "-product", "input_context": object{canary: "canary7q"}, "review_required": true}
		for k, v := range more {
			body[k] = v
		}
		call(owner, "POST", "/jobs", body)
	}
	call(agent, "POST", "/fleet/claim", object{"max": 3})
	at := func(n int, more object) object {
		more["job"], more["epoch"] = asked("-"+strconv.Itoa(n)), 1
		return more
	}
	call(agent, "POST", "/fleet/progress", at(1, object{"progress_percent": 40, "current_step": "canary7q step", "checkpoint": object{"at": canary}}))
	call(agent, "POST", "/fleet/steps", at(1, object{"steps": []object{{"n": 1, "kind": "message", "title": "canary7q step", "text": "canary7q text"}}}))
	call(agent, "POST", "/fleet/logs", at(1, object{"lines": []object{{"level": "INFO", "event": canary, "message": "canary7q line"}}}))
	patch, _ := call(agent, "PUT", "/blobs", "canary7q patch")["sha256"].(string)
	call(agent, "POST", "/fleet/complete", at(2, object{"patch_blob": patch, "summary": "canary7q done", "branch": canary, "result": object{canary: 1}}))
	call(agent, "POST", "/fleet/ask", at(3, object{"question": "canary7q?"}))
}

// point says which rows the routes request.
func (m *matrix) point() {
	m.t.Helper()
	text := func(sql string, args ...any) string { return dbfactory.Text(m.t, m.DB, sql, args...) }
	viewer := text("SELECT account_id::text FROM membership WHERE workspace_id = $1 AND role = 'viewer'", m.first)
	m.rows[":key"], m.rows[":action"], m.rows[":column"], m.rows[":product"] = asked("-1"), "pause", "ready", asked("-spare")
	m.rows[":group"], m.rows["types/:name"] = "jobs", "Job" // of the reference of the API
	m.rows[":issuer"] = asked("-issuer")
	dbfactory.Exec(m.t, m.DB, `INSERT INTO trusted_issuer (workspace_id, id, name, issuer, audience, claims, token_id, created_by)
		SELECT $1, $2, $3, 'https://canary7q.example', 'canary7q', '[{"claim": "sub", "value": "canary7q"}]', max(id::text)::uuid, 'canary7q'
		FROM access_token WHERE workspace_id = $1`, m.first, ids.New(), m.rows[":issuer"])
	m.rows["factories/:name"], m.rows["agents/:name"], m.rows[":account"] = asked("-host"), asked("-agent"), viewer
	m.rows[":session"] = text("SELECT min(id::text) FROM session WHERE account_id = $1", viewer)
	m.rows["tokens/:id"] = text("SELECT min(id::text) FROM access_token WHERE workspace_id = $1", m.first)
	m.rows[":login"] = ids.New().String()
	m.rows["browsers/:id"] = ids.New().String()
	m.rows[":invitation"] = ids.New().String()
	dbfactory.Exec(m.t, m.DB, `INSERT INTO invitation (workspace_id, id, email, role, token_hash, hint, invited_by, expires_at)
		SELECT $1, $2, 'canary7q-guest@example.org', 'viewer', 'x', 'canary7q', account_id, now() + interval '1 day' FROM membership
		WHERE workspace_id = $1 AND role = 'owner' LIMIT 1`, m.first, m.rows[":invitation"])
	m.rows[":budget"] = ids.New().String()
	dbfactory.Exec(m.t, m.DB, `INSERT INTO budget (workspace_id, id, name, scope, scope_key, period, timezone, limit_nanos, hard, slice_nanos,
		slice_tokens, alert_at, created_by) VALUES ($1, $2, 'canary7q', 'workspace', 'workspace', 'once', 'UTC', 1000000000, false, 1, 1, '{80}', 'test')`,
		m.first, m.rows[":budget"])
	dbfactory.Exec(m.t, m.DB, `INSERT INTO pool (workspace_id, id, name, capabilities, seats, min_factories, max_factories, min_idle,
		cool_down_seconds) VALUES ($1, gen_random_uuid(), 'a-name', '{canary7q}', 1, 0, 1, 0, 300)`, m.first)
	hook, _, err := m.deps.Webhooks.Create(m.t.Context(), dbfactory.Person(m.first, tenancy.RoleOwner),
		webhooks.New{URL: "https://93.184.215.14/canary7q", Types: []string{"webhook.*"}}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	said, err := m.deps.Webhooks.Test(m.t.Context(), dbfactory.Person(m.first, tenancy.RoleOwner), hook.ID, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.rows[":webhook"], m.rows[":delivery"] = hook.ID.String(), said.ID.String()
	dbfactory.Exec(m.t, m.DB, "UPDATE webhook_delivery SET answer = 'canary7q'")
	m.rows[":comment"] = ids.New().String()
	dbfactory.Exec(m.t, m.DB, `INSERT INTO job_comment (workspace_id, id, job_id, thread_id, epoch, commit, path, line, side, text, author_kind, author_id, author)
		SELECT workspace_id, $2, id, $2, 1, 'canary7q', 'canary7q', 1, 'new', 'canary7q', 'person', '', 'canary7q' FROM job WHERE workspace_id = $1
		ORDER BY key LIMIT 1`, m.first, m.rows[":comment"])
	m.rows[":message"] = ids.New().String()
	dbfactory.Exec(m.t, m.DB, `INSERT INTO message (workspace_id, seq, id, type, from_kind, from_name, to_kind, to_name, correlation_id, payload, digest)
		VALUES ($1, 7, $2, 'custom.note', 'agent', 'canary7q', 'role', 'worker', 'canary7q', '{"text": "canary7q"}', decode(repeat('00', 32), 'hex'))`,
		m.first, m.rows[":message"])
	dbfactory.Exec(m.t, m.DB, `INSERT INTO message_delivery (workspace_id, inbox, seq, deliveries, error, dead_at)
		VALUES ($1, 'role:worker', 7, 5, 'canary7q', now())`, m.first)
	m.rows[":blob"] = text("SELECT encode(sha256, 'hex') FROM blob WHERE workspace_id = $1", m.first)
	m.rows[":token"], m.rows["static/*"] = "none", "css/app.css"
	m.special = map[string]string{
		"GET /static/*":             "/static/css/none.css",
		"GET /review/:key/patch":    "/review/" + asked("-2") + "/patch",
		"POST /review/:key/:action": "/review/" + asked("-2") + "/approve",
		"POST /jobs/:key/link":      "/jobs/" + asked("-5") + "/link",
		"POST /jobs/:key/unlink":    "/jobs/" + asked("-4") + "/unlink",
		"GET /live":                 "/live?on=board",
		"GET /streams":              "/streams?s=/live%3Fon=board&last=&in=",
		"GET /live/jobs/:key/log":   "/live/jobs/" + asked("-1") + "/log?after=0",

		"GET /live/jobs/:key/transcript": "/live/jobs/" + asked("-1") + "/transcript?after=0-0",
		"GET /jobs/:key/transcript/text": "/jobs/" + asked("-1") + "/transcript/text?epoch=1&step=1",
	}
	m.fields = url.Values{"title": {"A title"}, "name": {"a-name"}, "reason": {"because"}, "email": {"guest@example.org"}, "role": {"member"},
		"version": {"1"}, "to": {"ready"}, "job": {asked("-1")}, "depends_on": {asked("-1")}, "type": {"blocks"}, "index": {"0"}, "amount_usd": {"1"}, "base": {"title=0"}, "workspace": {m.first.String()}, "kind": {"person"},
		"text": {"Hello"}, "seq": {"7"}, "thread": {asked("-1")}, "url": {"https://93.184.215.14/"}}
	m.leaves = map[string]bool{"POST /settings/account/sessions/end-all": true, "POST /settings/members/leave": true}
	m.private = map[string]bool{"POST /settings/account/sessions/:session/end": true, "POST /settings/notifications/browsers/:id/remove": true, "POST /settings/tokens/:id/revoke": true,
		// Without a provider there is none to link.
		"GET /settings/account/identity/link": true, "GET /settings/account/prove": true,
		"POST /settings/account/logins/:login/mine": true, "POST /settings/account/logins/:login/not-mine": true, "POST /settings/account/identity/unlink": true}
}
