package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/internal/app"
)

// canary is a secret that is easy to find, with signs that encoders write in
// different ways.
const canary = `kanarie/7f3a+9b?"ü`

// canaryForms returns what it looks like in answers, logs and dumps.
func canaryForms() []string {
	quoted, _ := json.Marshal(canary)
	inner := string(quoted[1 : len(quoted)-1])
	return []string{canary, inner, strings.ReplaceAll(inner, `\`, `\\`), "kanarie/7f3a", "kanarie%2F7f3a", "kanarie%2f7f3a", `kanarie\/7f3a`,
		strings.ReplaceAll(canary, `"`, "&#34;"), hex.EncodeToString([]byte(canary)), strings.ToUpper(hex.EncodeToString([]byte(canary))),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(canary)), "="), strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(canary)), "=")}
}

// echo returns all of that in one text, as an agent might print it.
func echo() string {
	return fmt.Sprintf("%s %x %X %s %s %s", canary, canary, canary, url.QueryEscape(canary), url.PathEscape(canary),
		base64.StdEncoding.EncodeToString([]byte(canary))+" "+base64.URLEncoding.EncodeToString([]byte(canary)))
}

// told returns the forms of the canary that stand in a text.
func told(text string) []string {
	return slices.DeleteFunc(canaryForms(), func(form string) bool { return !strings.Contains(text, form) })
}

// watched is a server in this process whose log, answers and streams are kept.
type watched struct {
	*server
	app     *app.App
	log     processtest.Output
	streams processtest.Output
	browser *http.Client
	heard   int // answers
}

func watch(t *testing.T, database string) *watched {
	t.Helper()
	dir := t.TempDir()
	cfg, err := app.LoadConfig(map[string]string{"DATABASE_URL": database, "FLEETBOARD_DATA_DIR": dir, "FLEETBOARD_LISTEN": "127.0.0.1:0",
		"FLEETBOARD_ADMIN_EMAIL": ownerEmail, "FLEETBOARD_ADMIN_PASSWORD": ownerPassword})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{}
	if w.app, err = app.Start(t.Context(), cfg, slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.app.Close() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.browser = &http.Client{Jar: jar}
	w.server = &server{t: t, url: w.app.URL(), email: ownerEmail, dataDir: dir}
	return w
}

// call sends a request and gives the answer's status and text. An answer that
// holds the canary fails the test, unless it is the claim's.
func (w *watched) call(client *http.Client, token, method, path, kind, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", kind)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	} else {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	answer, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	w.heard++
	whole := fmt.Sprint(answer.Header, string(text))
	if forms := told(whole); len(forms) > 0 && path != "/api/v1/fleet/claim" {
		w.t.Errorf("%s %s tells the secret as %q", method, path, forms)
	}
	return answer.StatusCode, string(text)
}

// api returns a call of the API that must end with a status; in is sent as JSON.
func (w *watched) api(token, method, path string, want int, in any) string {
	w.t.Helper()
	body := ""
	switch in := in.(type) {
	case nil:
	case string:
		body = in
	default:
		raw, err := json.Marshal(in)
		if err != nil {
			w.t.Fatal(err)
		}
		body = string(raw)
	}
	status, text := w.call(http.DefaultClient, token, method, "/api/v1"+path, "application/json", body)
	if status != want {
		w.t.Errorf("%s %s: %d, want %d: %s", method, path, status, want, text)
	}
	return text
}

// page returns a page, or a form that is sent.
func (w *watched) page(path string, want int, fields url.Values) string {
	w.t.Helper()
	method, body := http.MethodGet, ""
	if fields != nil {
		method, body = http.MethodPost, fields.Encode()
	}
	status, text := w.call(w.browser, "", method, path, "application/x-www-form-urlencoded", body)
	if status != want {
		w.t.Errorf("%s %s: %d, want %d", method, path, status, want)
	}
	return text
}

// listen keeps what a stream sends until the test's server ends.
func (w *watched) listen(client *http.Client, token, path string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %v %v", path, answer, err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(&w.streams, answer.Body) }()
	w.t.Cleanup(func() { _ = answer.Body.Close(); <-done })
}

// claim takes one job, whose secret the agent gets, and gives its epoch.
func (w *watched) claim(token, key string) int {
	w.t.Helper()
	text := w.api(token, "POST", "/fleet/claim", 200, map[string]any{"job": key})
	var got struct {
		Jobs []struct {
			InputContext map[string]any `json:"input_context"`
			Lease        struct{ Epoch int }
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Jobs) != 1 || got.Jobs[0].InputContext["TOKEN"] != canary {
		w.t.Fatalf("claim %s: %v %s", key, err, text)
	}
	return got.Jobs[0].Lease.Epoch
}

// A secret is submitted by the API and by the form, claimed, and written by its
// agent wherever an agent can write. It is found in the claims' answers, and in no
// other answer, page, stream or log line, and not in a dump of the database.
func TestACanarySecretIsToldToItsAgentAlone(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	w := watch(t, database)
	owner := w.token("owner-token")
	w.page("/login", 200, url.Values{"email": {ownerEmail}, "password": {ownerPassword}})
	w.listen(w.browser, "", "/live?on=board")
	w.listen(http.DefaultClient, owner, "/api/v1/events/stream")

	w.submitCanaries(owner)
	agent := w.enrol("claude-1")
	w.workAndFail(owner, agent, "FB-1")
	w.workAndComplete(agent, "FB-2")
	w.lookEverywhere(owner, agent)

	if forms := told(w.log.String()); len(forms) > 0 {
		t.Errorf("the server's log tells the secret as %q", forms)
	}
	eventually(t, "the stream telling of the end", func() bool {
		return strings.Contains(w.streams.String(), "job.completed") || strings.Contains(w.streams.String(), "job.handed_in")
	})
	if forms := told(w.streams.String()); len(forms) > 0 {
		t.Errorf("a stream tells the secret as %q", forms)
	}
	whole := dump(t, database)
	for _, there := range []string{"FB-1", "[secret]", "the test that failed"} {
		if !strings.Contains(whole, there) {
			t.Errorf("the dump does not have %q; it is not a dump of this", there)
		}
	}
	if forms := told(whole); len(forms) > 0 {
		t.Errorf("the dump tells the secret as %q", forms)
	}
	t.Logf("looked at %d answers, %d KB of streams, %d KB of log, %d KB of dump", w.heard, len(w.streams.String())>>10, len(w.log.String())>>10, len(whole)>>10)
}

// submitCanaries makes FB-1 by the API and FB-2 by the form, and sends what is
// refused besides.
func (w *watched) submitCanaries(owner string) {
	w.t.Helper()
	in := fields{"title": "by the API", "secret_keys": []string{"TOKEN", "DB"}, "input_context": fields{"TOKEN": canary, "DB": fields{"password": canary}, "URL": "x"}}
	w.api(owner, "POST", "/jobs", 201, in)
	in["secret_keys"] = []string{canary}
	w.api(owner, "POST", "/jobs", 422, in)
	in["secret_keys"], in["title"] = []string{"TOKEN"}, ""
	w.api(owner, "POST", "/jobs", 422, in)
	raw, _ := json.Marshal(canary)
	w.api(owner, "POST", "/jobs", 400, `{"title":"x","input_context":{"TOKEN":`+string(raw)+`}`)
	w.api(owner, "POST", "/jobs", 400, `{"title":"x","secret_keys":`+string(raw)+`}`)
	form := url.Values{"title": {"by the form"}, "inputs": {"URL=x"}, "secrets": {"TOKEN=" + canary}, "priority": {"x"}, "review_required": {"yes"}}
	w.page("/jobs", 422, form)
	form.Set("priority", "5")
	form.Set("secrets", "TOKEN="+canary+"\r\n"+canary)
	w.page("/jobs", 422, form)
	form.Set("secrets", "TOKEN="+canary)
	w.page("/jobs", 200, form)
}

// workAndFail echoes the secret while FB-1 is worked on, has a question and fails.
func (w *watched) workAndFail(owner, agent, key string) {
	w.t.Helper()
	at := fields{"job": key, "epoch": w.claim(agent, key)}
	say := func(path string, more fields) {
		w.t.Helper()
		w.api(agent, "POST", "/fleet/"+path, 200, merged(at, more))
	}
	tree := fields{canary: []any{echo(), fields{"deep": canary}}}
	say("start", nil)
	say("progress", fields{"progress_percent": 10, "current_step": canary, "checkpoint": tree})
	w.api(agent, "POST", "/agents/claude-1/heartbeat", 200, fields{"boot_id": "b", "status": "working", "leases": []fields{merged(at, fields{"current_step": "still " + canary, "checkpoint": tree})}})
	w.api(agent, "POST", "/fleet/logs", 200, merged(at, fields{"lines": []fields{
		{"level": "INFO", "event": canary, "message": "curl -H 'Authorization: " + echo() + "'", "details": tree}}}))
	say("ask", fields{"question": "Is it " + echo() + "?", "checkpoint": tree})
	w.api(owner, "POST", "/jobs/"+key+"/answer", 200, fields{"answer": "Yes."})
	at["epoch"] = w.claim(agent, key)
	say("release", fields{"reason": "no luck with " + echo(), "checkpoint": tree})
	at["epoch"] = w.claim(agent, key)
	say("fail", fields{"error": "the test that failed: " + echo(), "kind": "checks_failed", "stack": "main.go:1\n" + echo(), "retryable": false})
	w.api(agent, "POST", "/fleet/progress", 409, merged(at, fields{"current_step": canary}))
}

// workAndComplete echoes it in a result that a person then approves.
func (w *watched) workAndComplete(agent, key string) {
	w.t.Helper()
	at := fields{"job": key, "epoch": w.claim(agent, key)}
	done := merged(at, fields{"summary": echo(), "commit": canary, "branch": "fix/" + canary, "url": "https://x/" + url.PathEscape(canary),
		"result": fields{"out": echo(), canary: 1}})
	for range 2 {
		w.api(agent, "POST", "/fleet/complete", 200, done)
	}
}

// lookEverywhere gets every answer and page that is about these jobs.
func (w *watched) lookEverywhere(owner, agent string) {
	w.t.Helper()
	for _, path := range []string{"/jobs", "/jobs?q=by", "/stats", "/agents", "/agents/claude-1", "/agents/claude-1/jobs", "/factories", "/events",
		"/coordinator/logs", "/coordinator/status", "/products"} {
		w.api(owner, "GET", path, 200, nil)
	}
	for _, key := range []string{"FB-1", "FB-2"} {
		for _, path := range []string{"", "/attempts", "/events", "/logs", "/explanation"} {
			if !strings.Contains(w.api(owner, "GET", "/jobs/"+key+path, 200, nil), "{") {
				w.t.Errorf("%s of %s is empty", path, key)
			}
		}
		for _, path := range []string{"", "/log", "/attempts"} {
			w.page("/jobs/"+key+path, 200, nil)
		}
		w.api(agent, "GET", "/jobs/"+key, 200, nil)
	}
	for _, path := range []string{"/board", "/timeline", "/needs-you", "/review", "/review?job=FB-2", "/agents", "/status", "/palette", "/jobs/new", "/settings/secrets",
		"/settings/audit", "/settings/members", "/settings/tokens"} {
		w.page(path, 200, nil)
	}
	if text := w.page("/jobs/FB-1", 200, nil); !strings.Contains(text, "[secret]") {
		w.t.Error("the page of FB-1 has no placeholder")
	}
}

// enrol registers an agent and gives its token.
func (w *watched) enrol(name string) string {
	w.t.Helper()
	text := w.api(w.token("enrolment-token"), "PUT", "/agents/"+name, 200, fields{"boot_id": "b", "max_concurrent_jobs": 9,
		"factory": fields{"name": "f", "seats": 9}})
	var got struct{ Token string }
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		w.t.Fatal(err)
	}
	return got.Token
}

// fields are a JSON object.
type fields map[string]any

func merged(a, b fields) fields {
	all := fields{}
	for _, m := range []fields{a, b} {
		for name, value := range m {
			all[name] = value
		}
	}
	return all
}

// dump returns the whole database as pg_dump writes it.
func dump(t *testing.T, database string) string {
	t.Helper()
	program, err := exec.LookPath("pg_dump")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump"); len(found) > 0 {
		program, err = found[len(found)-1], nil
	}
	if err != nil {
		t.Fatalf("pg_dump, one of PostgreSQL's programs, is needed: %v", err)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "--dbname="+database)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, &problems)
	}
	return out.String()
}
