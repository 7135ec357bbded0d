package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// asker is one column of the matrix: a token, and who it stands for.
type asker struct {
	name    string
	token   string
	cookie  string
	who     tenancy.Principal
	foreign bool // of the other workspace
}

// TestMatrix makes every call of the description with every kind of credentials,
// of the workspace that the requested rows belong to and of another one. The
// expectation is the table of permissions. Whoever is refused changes nothing,
// and nobody outside the workspace sees a word of it: each of its texts holds
// the canary.
func TestMatrix(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	cells, leaks := 0, 0
	for _, call := range m.calls() {
		for _, a := range m.askers {
			if !a.who.Can(call.need) {
				cells++
				leaks += m.refused(call, a)
			}
		}
		if changed := m.kept.Changed(); len(changed) > 0 {
			t.Errorf("%s: somebody who was refused changed %v", call.name(), changed)
			m.begin()
		}
		for _, a := range m.askers {
			if a.who.Can(call.need) {
				cells++
				leaks += m.allowed(call, a)
			}
		}
	}
	t.Logf("%d calls, %d cells, %d leaks", len(m.calls()), cells, leaks)
}

// calls returns those of the description, in a fixed order.
func (m *matrix) calls() []matrixCall {
	var list []matrixCall
	for path, item := range described.doc.Paths.Map() {
		for method, op := range item.Operations() {
			c := matrixCall{method: method, path: path, id: op.OperationID, need: tenancy.Permission(fmt.Sprint(op.Extensions["x-permission"]))}
			if op.RequestBody != nil {
				if json := op.RequestBody.Value.Content["application/json"]; json != nil {
					c.body = json.Schema.Value
				}
			}
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b matrixCall) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return list
}

type matrixCall struct {
	method, path, id string
	need             tenancy.Permission
	body             *openapi3.Schema
}

func (c matrixCall) name() string { return c.method + " " + c.path }

// refused expects 401 without good credentials and 403 with those of somebody
// who may not, and that no canary sings.
func (m *matrix) refused(c matrixCall, a asker) (leaks int) {
	status, body := m.ask(c, a)
	want := http.StatusForbidden
	if a.who.Kind == "" {
		want = http.StatusUnauthorized
	}
	if status != want {
		m.t.Errorf("%s as %s: %d, want %d: %.200s", c.name(), a.name, status, want, body)
	}
	return m.listen(c, a, body)
}

// allowed expects anything but a refusal for want of rights. What a foreigner
// does leaves the workspace as it is, and a GET leaves everything.
func (m *matrix) allowed(c matrixCall, a asker) (leaks int) {
	status, body := m.ask(c, a)
	if m.others(c, a) {
		if status != http.StatusForbidden {
			m.t.Errorf("%s as %s: %d, though it speaks for somebody else", c.name(), a.name, status)
		}
	} else if status == http.StatusUnauthorized || status == http.StatusForbidden || status >= 500 {
		m.t.Errorf("%s as %s: %d, though %s is allowed: %.200s", c.name(), a.name, status, c.need, body)
	}
	if a.foreign {
		leaks = m.listen(c, a, body)
		if strings.Contains(c.path, "{job}") {
			byID := c
			byID.path = strings.Replace(c.path, "{job}", m.job, 1)
			other, body := m.ask(byID, a)
			if leaks += m.listen(byID, a, body); other != status {
				m.t.Errorf("%s as %s: %d by the job's id, %d by its key", c.name(), a.name, other, status)
			}
		}
		if changed := m.kept.ChangedWithin(); len(changed) > 0 {
			m.t.Errorf("%s as %s changed %v of another workspace", c.name(), a.name, changed)
		}
	}
	if !a.foreign && status >= 400 && m.shouldWork(c) {
		m.t.Errorf("%s as %s: %d, so that nothing was really tried: %.300s", c.name(), a.name, status, body)
	}
	if c.method == http.MethodGet {
		if changed := m.kept.Changed(); len(changed) > 0 {
			m.t.Errorf("%s as %s changed %v by reading", c.name(), a.name, changed)
			m.begin()
		}
		return leaks
	}
	m.begin()
	return leaks
}

// others reports whether an agent would speak for another one in a call, or answers a job that
// was not found in its own.
func (m *matrix) others(c matrixCall, a asker) bool {
	return a.foreign && (c.id == "heartbeat" || c.id == "endAgent") || !a.foreign && a.who.Kind == tenancy.KindAgent && c.id == "answerJob"
}

// shouldWork reports whether a call is good for whoever may. The others need another
// status of the job, or something that is not there.
func (m *matrix) shouldWork(c matrixCall) bool {
	return !slices.Contains([]string{"unblockJob", "resumeJob", "retryJob", "approveJob", "rejectJob", "mergeJob", "failMerge",
		"archiveJob", "deleteJob", "releaseJob", "answerJob", "registerAgent", "enrolWorkload", "nackMessage", "followPullRequest",
		"removeBrowser", "testNotifications"}, c.id)
}

// listen records each text of the workspace that somebody outside got to see.
func (m *matrix) listen(c matrixCall, a asker, body string) int {
	if i := strings.Index(strings.ToLower(body), canary); i >= 0 {
		m.t.Errorf("LEAK: %s shows %s: ...%s...", c.name(), a.name, body[max(0, i-60):min(len(body), i+60)])
		return 1
	}
	return 0
}

// ask sends the call, about rows of the first workspace.
func (m *matrix) ask(c matrixCall, a asker) (status int, all string) {
	m.t.Helper()
	w := m.send(c, a)
	return w.Code, fmt.Sprint(w.Header()) + w.Body.String()
}

func (m *matrix) send(c matrixCall, a asker) *httptest.ResponseRecorder {
	m.t.Helper()
	factory := asked("-host")
	if c.id == "removeFactory" {
		factory = asked("-empty")
	}
	path := strings.NewReplacer("{job}", m.jobFor(c), "{epoch}", "1", "{dep}", asked("-1"), "{agent}", asked("-agent"),
		"{factory}", factory, "{product}", asked("-spare"), "{budget}", matrixBudget.String(),
		"{message}", matrixMessage.String(), "{thread}", asked("-thread"), "{export}", asked("-export"), "{pool}", asked("-pool"), "{issuer}", asked("-issuer"), "{webhook}", m.webhook, "{delivery}", m.delivery, "{browser}", ids.New().String(), "{comment}", matrixComment.String(), "{blob}", matrixBlob).Replace(c.path)
	if c.id == "searchMessages" || c.id == "searchJobs" {
		path += "?q=" + canary
	}
	if c.id == "deleteExport" {
		path += "?confirm=" + asked("-export")
	}
	if strings.Contains(path, "{") {
		m.t.Fatalf("%s has a parameter that the matrix cannot fill in", path)
	}
	var body []byte
	if c.body != nil {
		value := m.sample("", c.body)
		if object, ok := value.(map[string]any); ok {
			maps.Copy(object, m.more(c))
		}
		var err error
		if body, err = json.Marshal(value); err != nil {
			m.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, c.method, api.BasePath+path, strings.NewReader(string(body)))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.cookie != "" {
		r.Header.Set("Cookie", a.cookie)
	}
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	return w
}

func (m *matrix) jobFor(c matrixCall) string {
	if c.id == "unlinkJob" || c.id == "getDependencies" {
		return asked("-3")
	}
	return asked("-1")
}

// more returns what a call needs beyond the least, to get as far as the rows.
func (m *matrix) more(c matrixCall) object {
	if body, ok := matrixBodies()[c.id]; ok {
		return body
	}
	if strings.HasPrefix(c.path, "/fleet/") && c.id != "claimJobs" {
		return object{"job": asked("-2"), "epoch": 1}
	}
	return nil
}

// matrixBodies are, by the id of a call, what it needs beyond the least.
func matrixBodies() map[string]object {
	message := object{"type": "custom.x", "to": object{"role": "worker"}}
	return map[string]object{
		"addComment":   {"in_reply_to": matrixComment.String()},
		"editComment":  {"resolved": true},
		"createBudget": {"limit_usd": "1"},
		"savePrices": {"prices": []object{{"provider": "house", "model": "m", "valid_from": "2026-01-02T03:04:05Z", "input": "1", "output": "1",
			"cache_read": "1", "cache_write": "1", "cache_write_1h": "1"}}},
		"decideUnpricedModel": {"decision": "pass"},
		"transferBudget":      {"to": matrixOther.String(), "amount_usd": "1"},
		"undoBudgetLine":      {"line": matrixLine},
		"raiseBudget":         {"amount_usd": "1"},
		"putPool":             {"max": 1, "offers": object{}},
		"putIssuer":           {"url": "https://id.example.com", "audience": "fleetboard", "claims": []object{{"claim": "sub", "value": "x"}}},
		"scalePool":           {"factory": "gone", "step": "ended"},
		"bulkJobs":            {"jobs": []string{asked("-1")}},
		"reportBatch":         {"items": []object{{"verb": "start", "job": asked("-2"), "epoch": 1}}},
		"patchJob":            {"version": 1, "title": "Another one"},
		"reclaimLeases":       {"job": asked("-2")},
		"heartbeat":           {"boot_id": "nest-boot", "leases": []object{{"job": asked("-2"), "epoch": 1, "progress_percent": 7}}},
		"registerAgent":       {"boot_id": "another", "factory": object{"name": "elsewhere", "seats": 1}},
		"sendMessage":         message,
		"sendMessages":        {"messages": []object{message}},
		"ackMessages":         {"seq": 1},
		"ackExport":           {"position": "1"},
		"resetExport":         {"position": ""},
		"linkJob":             {"depends_on": asked("-4")},
		"createWebhook":       {"url": "https://93.184.215.14/"},
		"patchWebhook":        {"version": 1, "state": "paused"},
		"addBrowser": {"endpoint": "https://push.example.net/x", "keys": object{"auth": "BTBZMqHH6r4Tts7J_aSIgg",
			"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}},
	}
}

// sample returns the least value that a schema takes.
func (m *matrix) sample(name string, s *openapi3.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type.Is("object"):
		o := object{}
		for _, key := range s.Required {
			o[key] = m.sample(key, s.Properties[key].Value)
		}
		return o
	case s.Type.Is("array"):
		list := []any{}
		for range max(s.MinItems, 1) {
			list = append(list, m.sample(name, s.Items.Value))
		}
		return list
	case s.Type.Is("boolean"):
		return true
	case s.Type.Is("integer"), s.Type.Is("number"):
		return 1
	case s.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	case name == "lines" || name == "message":
		return "a line"
	}
	return "x"
}

// begin goes back to the rows that were kept, with a server that remembers
// nothing.
func (m *matrix) begin() {
	m.t.Helper()
	m.kept.Restore()
	m.handler = m.serve()
}
