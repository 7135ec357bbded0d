package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// webPermissions is who may do what in the browser. A change of a route's Need
// has to be made here as well.
var webPermissions = map[tenancy.Permission][]string{
	tenancy.Public: {"GET /", "GET /agent.sh", "GET /docs/api", "GET /docs/api/:group", "GET /docs/api/types/:name", "GET /health/coordinator", "GET /healthz", "GET /invitations/:token", "GET /login",
		"GET /login/code", "GET /login/oidc", "GET /login/oidc/callback", "GET /login/oidc/join", "GET /push-worker.js", "GET /readyz", "GET /setup/:token", "GET /static/*", "POST /csp-report",
		"POST /invitations/:token", "POST /login", "POST /login/code", "POST /login/oidc/join", "POST /logout", "POST /setup/:token", "POST /theme"},
	tenancy.SignedIn: {"GET /settings", "GET /settings/account", "GET /settings/account/identity/confirm",
		"GET /settings/account/identity/link", "GET /settings/account/prove", "GET /settings/account/second-factor", "GET /settings/connect", "GET /settings/tokens",
		"GET /settings/tokens/new", "GET /streams", "POST /notes/put-away", "POST /settings/account", "POST /settings/account/identity/link",
		"POST /settings/account/identity/unlink", "POST /settings/account/logins/:login/mine",
		"POST /settings/account/logins/:login/not-mine", "POST /settings/account/password", "POST /settings/account/recovery-codes",
		"POST /settings/account/second-factor", "POST /settings/account/second-factor/confirm", "POST /settings/account/second-factor/off",
		"POST /settings/account/sessions/:session/end", "POST /settings/account/sessions/end-all",
		"POST /settings/account/sessions/end-others", "POST /settings/members/leave", "POST /settings/tokens",
		"POST /settings/tokens/:id/revoke", "POST /workspaces/switch"},
	tenancy.ReadBoard: {"GET /agents", "GET /agents/panel", "GET /blobs/:blob", "GET /blobs/:blob/view", "GET /board", "GET /board/column/:column", "GET /budgets", "GET /budgets/:budget/ledger", "GET /budgets/:budget/ledger.csv", "GET /jobs/:key",
		"GET /jobs/:key/attempts", "GET /jobs/:key/linkable", "GET /jobs/:key/log",
		"GET /jobs/:key/log/text", "GET /jobs/:key/panel", "GET /jobs/:key/transcript", "GET /jobs/:key/transcript/text",
		"GET /jobs/search", "GET /live", "GET /live/jobs/:key/log", "GET /live/jobs/:key/transcript", "GET /messages", "GET /needs-you", "GET /palette", "GET /pools", "GET /prices", "GET /review", "GET /review/:key/patch", "GET /search", "GET /settings/members", "GET /settings/notifications", "GET /settings/products",
		"GET /settings/workspace", "GET /status", "GET /stop", "GET /timeline", "GET /usage", "GET /usage/entries.csv", "GET /usage/focus.csv", "GET /usage/groups.csv",
		"POST /messages/seen", "POST /settings/notifications", "POST /settings/notifications/browsers", "POST /settings/notifications/browsers/:id/remove",
		"POST /settings/notifications/browsers/forget", "POST /settings/notifications/test"},
	tenancy.WriteJobs: {"GET /jobs/:key/ask/:action", "GET /jobs/:key/edit", "GET /jobs/new", "GET /jobs/new/routability", "POST /jobs", "POST /jobs/:key/:action", "POST /jobs/:key/edit", "POST /jobs/:key/link",
		"POST /jobs/:key/move", "POST /jobs/:key/rank", "POST /jobs/:key/tick", "POST /jobs/:key/undo", "POST /jobs/:key/unlink", "POST /jobs/new", "POST /jobs/new/preview", "POST /messages/send", "POST /review/:key/:action", "POST /review/:key/comments", "POST /review/:key/comments/:comment"},
	tenancy.RunFleet: {"POST /agents/:name/cut-off", "POST /agents/:name/terminate", "POST /factories/:name/drain",
		"POST /factories/:name/remove", "POST /factories/:name/undrain", "POST /messages/dead/:message/discard", "POST /messages/dead/:message/redrive", "POST /settings/connect", "POST /settings/issuers", "POST /settings/issuers/:issuer/remove", "POST /status/losses/note", "POST /status/recover"},
	tenancy.Manage: {"GET /budgets/:budget/edit", "GET /budgets/:budget/raise", "GET /budgets/new", "GET /budgets/transfer", "GET /pools/form", "GET /settings/audit", "GET /settings/dispatch", "GET /settings/dispatch/divergence", "GET /settings/products/:product", "GET /settings/products/new", "GET /settings/secrets",
		"GET /settings/webhooks", "GET /settings/webhooks/:webhook", "GET /settings/webhooks/:webhook/edit", "GET /settings/webhooks/new",
		"POST /budgets", "POST /budgets/:budget/edit", "POST /budgets/:budget/raise", "POST /budgets/:budget/remove", "POST /budgets/:budget/stop",
		"POST /budgets/:budget/undo", "POST /budgets/transfer", "POST /jobs/:key/delete", "POST /pools", "POST /pools/remove", "POST /prices", "POST /prices/models", "POST /settings/dispatch", "POST /settings/members/:account/remove", "POST /settings/members/:account/role", "POST /settings/members/invitations",
		"POST /settings/members/invitations/:invitation/revoke", "POST /settings/products", "POST /settings/products/:product",
		"POST /settings/products/:product/delete", "POST /settings/products/:product/pause", "POST /settings/products/:product/resume",
		"POST /settings/webhooks", "POST /settings/webhooks/:webhook", "POST /settings/webhooks/:webhook/delete", "POST /settings/webhooks/:webhook/deliveries/:delivery/redeliver",
		"POST /settings/webhooks/:webhook/enable", "POST /settings/webhooks/:webhook/pause", "POST /settings/webhooks/:webhook/rotate", "POST /settings/webhooks/:webhook/test",
		"POST /stop", "POST /stop/release", "POST /workspaces"},
	tenancy.Own: {"POST /settings/members/:account/disable", "POST /settings/members/:account/enable",
		"POST /settings/members/:account/end-sessions", "POST /settings/members/step-down", "POST /settings/secrets/renew",
		"POST /settings/workspace", "POST /settings/workspace/second-factor"},
}

func TestEveryRouteHasItsPermission(t *testing.T) {
	s := handlertest.OwnedSite(t)
	got := map[tenancy.Permission][]string{}
	known := map[string]bool{}
	for _, r := range s.Routed() {
		got[r.Need] = append(got[r.Need], r.Method+" "+r.Path)
		known[r.Method+" "+r.Path] = true
	}
	for _, list := range got {
		slices.Sort(list)
	}
	if diff := cmp.Diff(webPermissions, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	for _, r := range s.Mounted() {
		if !known[r.Method+" "+r.Path] {
			t.Errorf("%s %s is mounted without a permission", r.Method, r.Path)
		}
	}
}

// TestMatrix calls every route with every kind of credentials, of the workspace
// that the requested rows belong to and of another one. The expectation is the table
// of permissions. Whoever is refused changes nothing, nobody changes anything by
// reading, and nobody outside the workspace sees a word of it: each of its texts
// holds the canary.
func TestMatrix(t *testing.T) {
	m := newMatrix(t)
	cells, leaks := 0, 0
	for _, route := range m.Routed() {
		for _, v := range m.visitors {
			if !v.who.Can(route.Need) {
				cells++
				leaks += m.refused(route, v)
			}
		}
		if changed := m.kept.Changed(); len(changed) > 0 {
			t.Errorf("%s: somebody who was refused changed %v", nameOf(route), changed)
			m.begin()
		}
		for _, v := range m.visitors {
			if v.who.Can(route.Need) {
				cells++
				leaks += m.allowed(route, v)
			}
		}
	}
	t.Logf("%d routes, %d cells, %d leaks", len(m.Routed()), cells, leaks)
}

// visitor is one column of the matrix.
type visitor struct {
	name    string
	cookie  string // of the session
	bearer  string // a token, which pages never look at
	who     tenancy.Principal
	foreign bool // of the other workspace, or of none
}

func nameOf(r web.Route) string { return r.Method + " " + r.Path }

// refused expects the way to the log in without good credentials and 403 with
// those of somebody who may not.
func (m *matrix) refused(route web.Route, v visitor) (leaks int) {
	for _, accept := range []string{"*/*", "text/html"} {
		res := m.ask(route, v, accept)
		switch {
		case v.who.Kind != "":
			if res.Code != http.StatusForbidden {
				m.t.Errorf("%s as %s: %d, want 403", nameOf(route), v.name, res.Code)
			}
			if accept == "text/html" && !v.foreign {
				continue // the page has a member's own workspace around it
			}
		case accept == "text/html":
			if res.Code != http.StatusSeeOther || !strings.HasPrefix(res.Header().Get("Location"), "/login") {
				m.t.Errorf("%s as %s: %d %s, want the way to the log in", nameOf(route), v.name, res.Code, res.Header().Get("Location"))
			}
		case res.Code != http.StatusUnauthorized:
			m.t.Errorf("%s as %s: %d, want 401", nameOf(route), v.name, res.Code)
		}
		leaks += m.listen(route, v, res)
	}
	return leaks
}

// allowed expects anything but a refusal for want of rights. What a foreigner
// does leaves the workspace as it is, and a GET leaves everything.
func (m *matrix) allowed(route web.Route, v visitor) (leaks int) {
	for _, accept := range []string{"text/html", "*/*"} {
		res := m.ask(route, v, accept)
		m.judge(route, v, res)
		if v.foreign {
			leaks += m.listen(route, v, res)
			if changed := m.kept.ChangedWithin(); len(changed) > 0 && route.Need != tenancy.Public {
				m.t.Errorf("%s as %s changed %v of another workspace", nameOf(route), v.name, changed)
			}
		}
		if route.Method != http.MethodGet {
			m.begin()
			break
		}
		if changed := m.kept.Changed(); len(changed) > 0 {
			m.t.Errorf("%s as %s changed %v by reading", nameOf(route), v.name, changed)
			m.begin()
		}
	}
	return leaks
}

// judge looks at the answer to somebody who may call.
func (m *matrix) judge(route web.Route, v visitor, res *httptest.ResponseRecorder) {
	m.t.Helper()
	if route.Need == tenancy.Public {
		// Whoever comes gets the same answer, and it may be that the form is wrong.
		if res.Code >= 500 && !handlers.Quiet(route.Path) {
			m.t.Errorf("%s as %s: %d", nameOf(route), v.name, res.Code)
		}
		return
	}
	toLogin := strings.HasPrefix(res.Header().Get("Location"), "/login") && !m.leaves[nameOf(route)]
	if res.Code == http.StatusUnauthorized || res.Code == http.StatusForbidden || res.Code >= 500 || toLogin {
		m.t.Errorf("%s as %s: %d, though %s is allowed: %.300s", nameOf(route), v.name, res.Code, route.Need, res.Body)
	}
	if !v.foreign && res.Code == http.StatusNotFound && !m.private[nameOf(route)] {
		m.t.Errorf("%s as %s: 404, so that nothing was really tried", nameOf(route), v.name)
	}
}

// listen records each text of the workspace that somebody outside got to see.
func (m *matrix) listen(route web.Route, v visitor, res *httptest.ResponseRecorder) int {
	text := fmt.Sprint(res.Header()) + res.Body.String()
	if i := strings.Index(strings.ToLower(text), canary); i >= 0 {
		m.t.Errorf("LEAK: %s shows %s: ...%s...", nameOf(route), v.name, text[max(0, i-80):min(len(text), i+80)])
		return 1
	}
	return 0
}

// ask sends a request about rows of the first workspace.
func (m *matrix) ask(route web.Route, v visitor, accept string) *httptest.ResponseRecorder {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Second)
	defer cancel()
	var fields url.Values
	if route.Method != http.MethodGet {
		fields = m.fields
	}
	r := handlertest.Request(route.Method, m.path(route), fields).WithContext(ctx)
	r.Header.Set("Accept", accept)
	if v.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "sid", Value: v.cookie})
	}
	if v.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+v.bearer)
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w
}

// path fills in the parameters of a route. A route with a new parameter, or on a new
// kind of row, needs a line here.
func (m *matrix) path(route web.Route) string {
	m.t.Helper()
	if path, ok := m.special[nameOf(route)]; ok {
		return path
	}
	parts := strings.Split(route.Path, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, ":") && part != "*" {
			continue
		}
		value, ok := m.rows[parts[max(i-1, 0)]+"/"+part]
		if !ok {
			value, ok = m.rows[part]
		}
		if !ok {
			m.t.Errorf("%s: the matrix cannot fill in %s", nameOf(route), part)
		}
		parts[i] = url.PathEscape(value)
	}
	return strings.Join(parts, "/")
}
