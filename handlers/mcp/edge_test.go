package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/mcp"
)

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// older speaks the revision before the stateless one, whose requests need no metadata.
var older = []string{"Mcp-Protocol-Version", "2025-11-25"}

// Whoever has no good token is told where to find out how to get one, and a page of another site
// is told nothing.
func TestNobodyElseIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := strings.TrimPrefix(w.url, "http://")
	for name, c := range map[string]struct {
		method, token, body string
		header              []string
		status              int
		code                string
	}{
		"nobody":                  {"POST", "", list, nil, 401, "unauthenticated"},
		"nobody who reads":        {"GET", "", "", nil, 401, "unauthenticated"},
		"a cookie":                {"POST", "", list, []string{"Cookie", "session=x; fleetboard_session=" + w.owner}, 401, "unauthenticated"},
		"a token in the query":    {"POST", "", list, nil, 401, "unauthenticated"},
		"a token that is none":    {"POST", "fb_person_guess", list, nil, 401, "token_invalid"},
		"a token to register":     {"POST", w.enrolment, list, nil, 403, "forbidden"},
		"a page of another site":  {"POST", w.owner, list, []string{"Origin", "https://evil.example"}, 403, "forbidden"},
		"a page without a site":   {"POST", w.owner, list, []string{"Origin", "null"}, 403, "forbidden"},
		"a page by its rebinding": {"POST", w.owner, list, []string{"Origin", "http://" + host + ".evil.example"}, 403, "forbidden"},
		"a browser elsewhere":     {"POST", w.owner, list, []string{"Sec-Fetch-Site", "cross-site"}, 403, "forbidden"},
		"a page of ours":          {"POST", w.owner, list, append([]string{"Origin", "http://" + host}, older...), 200, ""},
		"a reader":                {"GET", w.owner, "", nil, 405, "method_not_allowed"},
		"a session's end":         {"DELETE", w.owner, "", nil, 405, "method_not_allowed"},
		"many at once":            {"POST", w.owner, " [" + list + "," + list + "]", nil, 400, "malformed"},
		"too much":                {"POST", w.owner, `{"x":"` + strings.Repeat("x", 300<<10) + `"}`, nil, 413, "too_large"},
	} {
		path := mcp.Path
		if name == "a token in the query" {
			path += "?access_token=" + w.owner
		}
		got := w.send(c.method, path, c.token, c.body, c.header...)
		if got.status != c.status || c.code != "" && decode(t, got.body)["code"] != c.code {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if got.status != http.StatusUnauthorized {
			continue
		}
		challenge := got.header.Get("WWW-Authenticate")
		if want := `resource_metadata="` + w.url + `/.well-known/oauth-protected-resource/mcp"`; !strings.HasPrefix(challenge, "Bearer ") ||
			!strings.HasSuffix(challenge, want) || strings.Count(challenge, "Bearer") != 1 {
			t.Errorf("%s: the challenge is %s, want one with %s", name, challenge, want)
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		got := w.send("GET", path, "", "")
		if o := decode(t, got.body); got.status != 200 || o["resource"] != w.url+"/mcp" || fmt.Sprint(o["bearer_methods_supported"]) != "[header]" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// Each revision that is spoken is answered, and no stream stays open.
func TestRevisionsOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if got := w.send("POST", mcp.Path, w.owner, discover, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"); got.status != 200 ||
		!strings.Contains(got.body, `"2026-07-28"`) || !strings.Contains(got.body, "review_job") {
		t.Errorf("discovered: %d %s", got.status, got.body)
	}
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		if got := w.send("POST", mcp.Path, w.owner, begin); got.status != 200 || !strings.Contains(got.body, `"protocolVersion":"`+version+`"`) ||
			got.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %d %s %v", version, got.status, got.body, got.header)
		}
	}
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	if got := w.send("POST", mcp.Path, w.owner, listen, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"); !strings.Contains(got.body, "-32601") {
		t.Errorf("listening: %d %s", got.status, got.body)
	}
	if got := w.send("POST", mcp.Path, w.owner, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, older...); !strings.Contains(got.body, "error") && got.status < 400 {
		t.Errorf("resources: %d %s", got.status, got.body)
	}
}

// One caller has a bounded number of tools at work, and is not counted twice for one.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.agent("ada")
	claim := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"claim_next_job","arguments":{"wait_seconds":50}}}`
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { w.send("POST", mcp.Path, token, claim, older...) })
		w.await(w.begun)
	}
	got := w.send("POST", mcp.Path, token, list, older...)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", got.status, got.body)
	}
	if other := w.send("POST", mcp.Path, w.agent("eve"), list, older...); other.status != 200 {
		t.Errorf("another agent pays: %d %s", other.status, other.body)
	}
	w.services.Close() // ends every wait
	all.Wait()
	if got := w.send("POST", mcp.Path, token, list, older...); got.status != 200 {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}

	few := newWorld(t, limited(8)) // at once as many as the quota lets burst
	get := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_jobs","arguments":{}}}`
	direct := 0
	for few.send("GET", "/api/v1/jobs?limit=1", few.owner, "", "Accept", "application/json").status == 200 {
		direct++
	}
	fresh, tools := newWorld(t, limited(8)), 0
	for fresh.send("POST", mcp.Path, fresh.owner, get, older...).status == 200 {
		tools++
	}
	if tools < direct-1 || tools > direct+8 {
		t.Errorf("%d calls of tools pass, %d of the API", tools, direct)
	}
}
