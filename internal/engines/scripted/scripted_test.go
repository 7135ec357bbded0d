package scripted_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fleetboard/internal/engines/scripted"
)

// events are the data of the events that answer a call.
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
