package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/playwright-community/playwright-go"
)

// watchdog runs before each page's own scripts. What ran leaves a mark that
// outlives the page.
const watchdog = `(() => {
	const note = (what) => { try { localStorage.setItem("hostile", (localStorage.getItem("hostile") || "") + what + "\n") } catch {} }
	Object.defineProperty(window, "__xss", { set: (v) => note("ran at " + location.href), get: () => undefined })
	document.addEventListener("securitypolicyviolation", (e) => note("policy: " + e.violatedDirective + " " + e.blockedURI + " at " + location.href))
})()`

// evil is a place for text from outside: how many texts it took and refused.
type evil struct {
	*server
	texts           []string
	browser         *http.Client
	accepted        int
	refused         int
	acceptedByPlace map[string]int
}

// Text from people and agents, whatever is in it, is shown as text: it runs
// nothing, loads nothing, breaks no page, in the page as in what comes live.
func TestHostileTextIsOnlyText(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	e := &evil{server: startServer(t), acceptedByPlace: map[string]int{}}
	if err := json.Unmarshal(raw, &e.texts); err != nil || len(e.texts) < 100 {
		t.Fatalf("%d texts (%v)", len(e.texts), err)
	}
	e.logIn()
	e.rename()
	agent := e.machine()

	board, log := e.watch(), e.watch()
	board.logIn()
	board.live()
	e.create("victim", object{"title": "Watched", "body": strings.Join(e.texts, "\n\n"), "priority": 10, "review_required": true})
	e.mustCall(agent, "POST", "/fleet/claim", object{"max": 1})
	log.logIn()
	log.open("/jobs/victim/log")
	log.tailing()
	e.speak(agent)
	e.jobs(agent)

	board.sees("#card-h-1")
	log.sees("#joblog-list li >> nth=50")
	board.palette(e.texts)
	board.tour(e.pages())
	for _, v := range []*visitor{board, log} {
		v.unharmed()
	}
	if reports := strings.Count(e.logs.String(), "content security policy report"); reports > 0 {
		t.Errorf("%d reports of the policy", reports)
	}
	if e.refused == 0 || e.accepted < 4*len(e.texts) {
		t.Errorf("%d texts were taken and %d refused: little was tried", e.accepted, e.refused)
	}
	t.Logf("%d texts, %d times taken, %d times refused, %d pages: none ran; %v", len(e.texts), e.accepted, e.refused, len(e.pages()), e.acceptedByPlace)
}

type object = map[string]any

// watch opens a browser that records what ran.
func (e *evil) watch() *visitor {
	e.t.Helper()
	v := e.visit(desktop)
	v.must("watch", v.tab.Context().AddInitScript(playwright.Script{Content: playwright.String(watchdog)}))
	v.tab.OnDialog(func(d playwright.Dialog) {
		e.t.Errorf("a dialog: %s", d.Message())
		_ = d.Dismiss()
	})
	v.tab.OnRequest(func(r playwright.Request) {
		if !strings.HasPrefix(r.URL(), e.url) && !strings.HasPrefix(r.URL(), "data:image") {
			e.t.Errorf("the page asks for %s", r.URL())
		}
	})
	return v
}

// unharmed checks that nothing has run in any page of this browser.
func (v *visitor) unharmed() {
	v.t.Helper()
	mark, err := v.tab.Evaluate(`() => localStorage.getItem("hostile") || ""`)
	v.must("look for marks", err)
	if mark != "" {
		v.t.Errorf("it ran: %v", mark)
	}
}

// tour opens pages. Each is whole, and shows no character that cannot be seen.
func (v *visitor) tour(paths []string) {
	v.t.Helper()
	for _, path := range paths {
		answer, err := v.tab.Goto(path, playwright.PageGotoOptions{WaitUntil: playwright.WaitUntilStateDomcontentloaded})
		v.must("open "+path, err)
		if answer.Status() >= 400 {
			v.t.Errorf("%s answered %d", path, answer.Status())
		}
		hidden, err := v.tab.Evaluate(`() => {
			const text = document.body.innerText + document.title + [...document.querySelectorAll("[title],[aria-label]")].map((n) => n.title + n.ariaLabel).join("")
			const found = text.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u2028\u2029]/)
			if (document.querySelectorAll("main").length !== 1) return "not one main part"
			return found ? "U+" + found[0].codePointAt(0).toString(16) + " in ..." + text.slice(Math.max(0, found.index - 30), found.index + 30) : ""
		}`)
		v.must("read "+path, err)
		if hidden != "" {
			v.t.Errorf("%s shows %v", path, hidden)
		}
	}
}

// palette types texts into the palette.
func (v *visitor) palette(texts []string) {
	v.t.Helper()
	for i := 0; i < len(texts); i += 25 {
		v.must("open the palette", v.tab.Keyboard().Press("Control+k"))
		v.must("type", v.tab.Locator("dialog[open] input").First().Fill(strings.ReplaceAll(texts[i], "\n", " ")))
		v.must("close the palette", v.tab.Keyboard().Press("Escape"))
	}
}

// pages returns all that show text from outside.
func (e *evil) pages() []string {
	list := []string{"/board", "/board?group=phase", "/board?group=repo", "/board?group=factory", "/board?q=%3Cscript%3Ewindow.__xss%3D1%3C%2Fscript%3E",
		"/jobs/new", "/needs-you", "/review", "/agents", "/timeline", "/timeline?group=jobs", "/status", "/usage", "/budgets",
		"/login?next=javascript:window.__xss=1", "/jobs/victim", "/jobs/victim/log", "/jobs/victim/attempts", "/settings/account", "/settings/members",
		"/settings/tokens", "/settings/products", "/settings/workspace", "/settings/connect", "/settings/audit", "/settings/products/default"}
	for i := range e.texts {
		switch i % 12 {
		case 0:
			list = append(list, "/jobs/"+key(i), "/review?job="+key(i))
		case 1, 2, 3:
			list = append(list, "/jobs/"+key(i))
		}
	}
	return list
}

func key(i int) string { return fmt.Sprintf("h-%d", i) }

// machine registers agents under hostile names and descriptions, and gives the
// token of one that works.
func (e *evil) machine() string {
	e.t.Helper()
	enrolment := e.token("enrolment-token")
	for i, text := range e.texts {
		factory := object{"name": fmt.Sprintf("f-%d", i%5), "os": text, "host": text, "seats": 500, "repos": []object{{"name": text, "url": text, "default_branch": text}}}
		e.try("registration", enrolment, "PUT", "/agents/a-"+fmt.Sprint(i%5), object{"boot_id": "b", "model": text, "factory": factory})
		e.try("names", enrolment, "PUT", "/agents/"+url.PathEscape(text), object{"boot_id": "b", "factory": object{"name": text, "engines": []string{text}, "capabilities": []string{text}}})
		e.try("repo", e.token("owner-token"), "PUT", "/products/"+url.PathEscape(text), object{"repos": []string{text}})
		e.try("host", enrolment, "PUT", "/agents/h-"+fmt.Sprint(i%7), object{"boot_id": "b", "factory": object{"name": fmt.Sprint("h-", i%7), "host": text}})
		e.try("model", enrolment, "PUT", "/agents/m-"+fmt.Sprint(i), object{"boot_id": "b", "model": cut(text, 64), "factory": object{"name": "f-0", "os": cut(text, 64), "host": text, "seats": 500}})
	}
	body := e.mustCall(enrolment, "PUT", "/agents/worker", object{"boot_id": "b", "max_concurrent_jobs": 100, "factory": object{"name": "f-0", "seats": 500}})
	token, _ := body["token"].(string)
	return token
}

// jobs makes a job of each text, and lets it go as far as a job can.
func (e *evil) jobs(agent string) {
	e.t.Helper()
	owner := e.token("owner-token")
	for i, text := range e.texts {
		if !e.create(key(i), object{"title": cut(text, 200), "body": text, "acceptance": []string{text}, "tags": []string{cut(text, 64)}, "phase": cut(text, 64),
			"kind": cut(text, 64), "repo": cut(text, 128), "priority": 9, "input_context": object{text: text}, "review_required": true}) {
			// Names have rules; the longer texts take anything that is text.
			e.create(key(i), object{"title": "Refused", "body": text, "priority": 9, "review_required": true})
		}
		if i%12 == 3 {
			e.try("reason", owner, "POST", "/jobs/"+key(i)+"/block", object{"reason": text})
		}
	}
	for range 4 {
		e.call(agent, "POST", "/fleet/claim", object{"max": 40})
	}
	for i, text := range e.texts {
		at := object{"job": key(i), "epoch": 1}
		say := func(place, call string, more object) {
			for k, v := range at {
				more[k] = v
			}
			e.try(place, agent, "POST", "/fleet/"+call, more)
		}
		say("progress", "progress", object{"progress_percent": 5, "current_step": cut(text, 200), "checkpoint": object{text: text}})
		switch i % 4 {
		case 0:
			say("result", "complete", object{"summary": text, "commit": cut(text, 100), "branch": cut(text, 200), "url": text, "result": object{text: text, "diff": text}})
			say("result", "complete", object{"summary": text, "commit": cut(text, 100), "branch": cut(text, 200), "result": object{text: text, "diff": "diff --git a/" + text + " b/" + text + "\n--- a/" + text + "\n+++ b/" + text + "\n@@ -1 +1 @@ " + text + "\n-" + text + "\n+" + text}})
		case 1:
			say("question", "ask", object{"question": text})
			e.try("answer", owner, "POST", "/jobs/"+key(i)+"/answer", object{"answer": text})
		case 2:
			say("error", "fail", object{"error": text, "kind": "other", "retryable": false, "stack": text})
		}
	}
	e.try("feedback", owner, "POST", "/jobs/"+key(0)+"/reject", object{"reason": e.texts[0]})
}

// speak writes every text into the log of the job that somebody looks at.
func (e *evil) speak(agent string) {
	e.t.Helper()
	for _, text := range e.texts {
		e.try("log", agent, "POST", "/fleet/logs", object{"job": "victim", "epoch": 1, "lines": []object{
			{"level": "ERROR", "event": cut(text, 64), "message": text, "details": object{text: text}}}})
	}
	e.try("progress", agent, "POST", "/fleet/progress", object{"job": "victim", "epoch": 1, "current_step": e.texts[3], "checkpoint": object{"all": e.texts}})
}

func (e *evil) create(key string, body object) bool {
	e.t.Helper()
	body["key"] = key
	return e.try("job", e.token("owner-token"), "POST", "/jobs", body)
}

// logIn gets the cookie of a browser without pages.
func (e *evil) logIn() {
	e.t.Helper()
	jar, _ := cookiejar.New(nil)
	e.browser = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if status := e.form("/login", url.Values{"email": {e.email}, "password": {ownerPassword}}); status != http.StatusSeeOther {
		e.t.Fatalf("log in: %d", status)
	}
}

// rename sends texts through the forms of the settings; the last that is taken
// stays as the name of the person and of the workspace.
func (e *evil) rename() {
	e.t.Helper()
	for i, text := range e.texts {
		e.count("invitation", e.form("/settings/members/invitations", url.Values{"email": {cut(text, 200)}, "role": {"viewer"}}))
		if i%4 == 0 {
			e.count("token", e.form("/settings/tokens", url.Values{"kind": {"person"}, "name": {cut(text, 100)}, "life": {"90"}, "form_key": {fmt.Sprintf("00000000-0000-7000-8000-%012d", i)}}))
			e.count("person", e.form("/settings/account", url.Values{"name": {cut(text, 100)}}))
			e.count("workspace", e.form("/settings/workspace", url.Values{"name": {cut(text, 100)}}))
			e.count("product", e.form("/settings/products", url.Values{"name": {text}, "repos": {text}}))
		}
	}
	for _, text := range []string{"<img src=x onerror=window.__xss=1>", "\"><script>window.__xss=1</script>"} {
		e.count("person", e.form("/settings/account", url.Values{"name": {text}}))
		e.count("workspace", e.form("/settings/workspace", url.Values{"name": {text}}))
	}
}

func (e *evil) form(path string, fields url.Values) int {
	e.t.Helper()
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.url+path, strings.NewReader(fields.Encode()))
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := e.browser.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// try sends a call that may be refused, but not by a failure.
func (e *evil) try(place, token, method, path string, body object) bool {
	e.t.Helper()
	status, _ := e.call(token, method, path, body)
	return e.count(place, status)
}

func (e *evil) count(place string, status int) bool {
	e.t.Helper()
	switch {
	case status >= 500:
		e.t.Errorf("%s was answered %d", place, status)
	case status >= 400:
		e.refused++
		return false
	}
	e.accepted++
	e.acceptedByPlace[place]++
	return true
}

func (e *evil) mustCall(token, method, path string, body object) object {
	e.t.Helper()
	status, answer := e.call(token, method, path, body)
	if status >= 300 {
		e.t.Fatalf("%s %s: %d %v", method, path, status, answer)
	}
	return answer
}

func (e *evil) call(token, method, path string, body object) (int, object) {
	e.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		e.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(e.t.Context(), method, e.url+"/api/v1"+path, bytes.NewReader(raw))
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var out object
	_ = json.NewDecoder(answer.Body).Decode(&out)
	return answer.StatusCode, out
}

// cut keeps a text within a limit of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}
