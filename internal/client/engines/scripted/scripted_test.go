package scripted_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
)

// events returns the data of the events that answer a call.
func events(t *testing.T, server *httptest.Server, path, body string) (list []string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", path, answer.StatusCode, text, err)
	}
	for line := range strings.Lines(string(text)) {
		if data, is := strings.CutPrefix(strings.TrimSpace(line), "data: "); is {
			if data != "[DONE]" && !json.Valid([]byte(data)) {
				t.Errorf("%s: no JSON: %s", path, data)
			}
			list = append(list, data)
		}
	}
	return list
}

// In each format the steps follow the results of tools, begin anew with what a person
// says, and end with the last one; a call without tools is an aside.
func TestTheScriptIsFollowedInEachFormat(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(scripted.New(scripted.Greeting))
	t.Cleanup(server.Close)
	for path, format := range map[string]struct{ said, tools, person, result string }{
		"/v1/messages?beta=true": {"messages", `[{"name":"Read"},{"name":"Bash"}]`, `{"role":"user","content":"x"}`,
			`{"role":"user","content":[{"type":"tool_result"}]}`},
		"/v1/responses":        {"input", `[{"type":"function","name":"shell"}]`, `{"role":"user"}`, `{"type":"function_call_output"}`},
		"/v1/chat/completions": {"messages", `[{"function":{"name":"bash"}}]`, `{"role":"user"}`, `{"role":"tool"}`},
	} {
		path, _, _ = strings.Cut(path, "?")
		for said, want := range map[string]int{format.person: 0, format.person + "," + format.result: 1,
			format.person + "," + format.result + "," + format.result:                                            2,
			format.person + "," + format.result + "," + format.result + "," + format.result:                      2,
			format.person + "," + format.result + "," + format.person + "," + format.result:                      1,
			format.person + "," + format.result + "," + format.result + `,{"role":"assistant"},` + format.person: 0} {
			all := strings.Join(events(t, server, path, fmt.Sprintf(`{"model":"m","tools":%s,%q:[%s]}`, format.tools, format.said, said)), "\n")
			step := scripted.Greeting[want]
			if !strings.Contains(all, step.Text) || !strings.Contains(all, fmt.Sprint(step.Usage.Output)) {
				t.Errorf("%s after %s: %s\nwant %q", path, said, all, step.Text)
			}
			if asks := strings.Contains(all, "greeting.txt"); asks != (step.Command != "") {
				t.Errorf("%s after %s: it asks for a command %t", path, said, asks)
			}
		}
		if all := strings.Join(events(t, server, path, `{}`), "\n"); !strings.Contains(all, `Greeting`) || strings.Contains(all, "greeting.txt") {
			t.Errorf("%s without tools: %s", path, all)
		}
	}
}

// In each format a step may call another tool than the shell, which is found by the end of
// its name, also in a namespace.
func TestAStepCallsATool(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(scripted.New([]scripted.Step{{Text: "I ask.", Tool: "ask_person", Arguments: map[string]any{"question": "Why?"}}}))
	t.Cleanup(server.Close)
	for path, format := range map[string]struct{ said, tools, none, want string }{
		"/v1/messages": {"messages", `[{"name":"Bash"},{"name":"mcp__fleetboard__ask_person"}]`, `[{"name":"Bash"}]`, `"name":"mcp__fleetboard__ask_person"`},
		"/v1/responses": {"input", `[{"name":"shell"},{"name":"mcp__fleetboard","tools":[{"name":"ask_person"}]}]`, `[{"name":"shell"}]`,
			`"name":"ask_person","namespace":"mcp__fleetboard"`},
		"/v1/chat/completions": {"messages", `[{"function":{"name":"bash"}},{"function":{"name":"fleetboard_ask_person"}}]`, `[{"function":{"name":"bash"}}]`,
			`"name":"fleetboard_ask_person"`},
	} {
		all := strings.Join(events(t, server, path, fmt.Sprintf(`{"tools":%s,%q:[{"role":"user","content":"x"}]}`, format.tools, format.said)), "\n")
		if !strings.Contains(all, format.want) || !strings.Contains(all, "Why?") {
			t.Errorf("%s: %s", path, all)
		}
		all = strings.Join(events(t, server, path, fmt.Sprintf(`{"tools":%s,%q:[{"role":"user","content":"x"}]}`, format.none, format.said)), "\n")
		if !strings.Contains(all, "No tool ask_person is offered.") || strings.Contains(all, "Why?") {
			t.Errorf("%s without the tool: %s", path, all)
		}
	}
}

// Each time that the person says something, the next script begins; what programs add for
// themselves beside it, does not count.
func TestEachTurnHasItsScript(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(scripted.Turns([]scripted.Step{{Text: "First.", Command: "true"}, {Text: "Second."}}, []scripted.Step{{Text: "Third."}}))
	t.Cleanup(server.Close)
	user, assistant, result := `{"role":"user","content":"x"}`, `{"role":"assistant"}`, `{"role":"tool"}`
	for said, want := range map[string]string{
		user: "First.", user + "," + user: "First.", strings.Join([]string{user, assistant, result}, ","): "Second.",
		strings.Join([]string{user, assistant, result, assistant, user}, ","):                "Third.",
		strings.Join([]string{user, assistant, user, assistant, user, user, assistant}, ","): "Third.",
	} {
		all := strings.Join(events(t, server, "/v1/chat/completions", fmt.Sprintf(`{"tools":[{"function":{"name":"bash"}}],"messages":[%s]}`, said)), "\n")
		if !strings.Contains(all, want) {
			t.Errorf("%s: %s; want %s", said, all, want)
		}
	}
}

func TestAStepIsRefusedFirst(t *testing.T) {
	t.Parallel()
	model := scripted.New([]scripted.Step{{Text: "At last.", Refuse: scripted.Refuse{Status: http.StatusTooManyRequests, Times: 2, RetryAfter: 7}}})
	for _, want := range []int{http.StatusTooManyRequests, http.StatusTooManyRequests, http.StatusOK, http.StatusOK} {
		answer := httptest.NewRecorder()
		model.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(`{"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"x"}]}`)))
		if answer.Code != want {
			t.Fatalf("status %d; want %d", answer.Code, want)
		}
		wait, kind := answer.Header().Get("Retry-After"), answer.Header().Get("Content-Type")
		if refused := want != http.StatusOK; refused && (wait != "7" || kind != "application/json" || !strings.Contains(answer.Body.String(), "rate_limit_error")) {
			t.Errorf("refused with %q %q %s", wait, kind, answer.Body)
		} else if !refused && (wait != "" || !strings.Contains(answer.Body.String(), "At last.")) {
			t.Errorf("answered with %q %s", wait, answer.Body)
		}
	}
}

func TestOtherCallsAreRefused(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"/v1/messages": http.StatusBadRequest, "/v1/messages/count_tokens": http.StatusNotFound, "/": http.StatusNotFound} {
		answer := httptest.NewRecorder()
		scripted.New(scripted.Greeting).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, strings.NewReader("no JSON")))
		if answer.Code != want {
			t.Errorf("%s: %d; want %d", path, answer.Code, want)
		}
	}
}
