package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// request is what is sent: body is marshalled unless it is a string or bytes.
type request struct {
	token  string
	method string
	path   string
	body   any
	header map[string]string
	ctx    context.Context // of one call
}

// send makes a call and checks both sides of it against the description.
func (w *apiServer) send(in request) answer {
	w.t.Helper()
	return exchange(w.t, w.url, in)
}

// as makes a call. One that reads a log waits until all of it may be read.
func (w *apiServer) as(token, method, path string, body any, header ...string) answer {
	w.t.Helper()
	in := request{token: token, method: method, path: path, body: body, header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		in.header[header[i]] = header[i+1]
	}
	// A log is read up to the oldest open transaction, and that may be another test's.
	if method == http.MethodGet && (strings.HasPrefix(path, "/events") || strings.HasPrefix(path, "/exports/")) {
		dbfactory.Readable(w.t, w.db)
	}
	return w.send(in)
}

func exchange(t *testing.T, url string, in request) answer {
	t.Helper()
	raw := encode(t, in.body)
	if in.ctx == nil {
		in.ctx = t.Context()
	}
	r, err := http.NewRequestWithContext(in.ctx, in.method, url+api.BasePath+in.path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if in.token != "" {
		r.Header.Set("Authorization", "Bearer "+in.token)
	}
	if len(raw) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range in.header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		if in.ctx.Err() != nil {
			return answer{t: t}
		}
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	a := answer{t: t, status: response.StatusCode, header: response.Header}
	if a.raw, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	if len(a.raw) > 0 && a.raw[0] == '{' {
		decoder := json.NewDecoder(bytes.NewReader(a.raw))
		decoder.UseNumber()
		if err := decoder.Decode(&a.body); err != nil {
			t.Fatalf("%s %s: %v", in.method, in.path, err)
		}
	}
	a.checkAgainst(r, raw)
	return a
}

func encode(t *testing.T, body any) []byte {
	t.Helper()
	switch b := body.(type) {
	case nil:
		return nil
	case string:
		return []byte(b)
	case []byte:
		return b
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// checkAgainst holds an exchange against the description: a good answer must be
// to a request that it allows, and every answer must be one that it names.
func (a answer) checkAgainst(r *http.Request, body []byte) {
	a.t.Helper()
	if a.header.Get("X-Request-Id") == "" {
		a.t.Errorf("%s %s: no X-Request-Id", r.Method, r.URL.Path)
	}
	if a.status >= 400 && r.Method != http.MethodHead {
		a.checkProblem(r)
	}
	r = r.Clone(context.Background())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.URL.Host, r.URL.Scheme, r.Host = "", "", ""
	route, params, err := described.router.FindRoute(r)
	if err != nil {
		if a.status < 400 {
			a.t.Errorf("%s %s: %d, and not described", r.Method, r.URL.Path, a.status)
		}
		return
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true,
			IncludeResponseStatus: true}}
	if err := openapi3filter.ValidateRequest(a.t.Context(), input); err != nil && a.status < 400 {
		a.t.Errorf("%s %s: %d, though the description refuses it: %.300s", r.Method, r.URL.Path, a.status, err)
	}
	output := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: a.status, Header: a.header,
		Body: io.NopCloser(bytes.NewReader(a.raw)), Options: input.Options}
	if err := openapi3filter.ValidateResponse(a.t.Context(), output); err != nil {
		a.t.Errorf("%s %s: the answer is not as described: %.300s\n%.2000s", r.Method, r.URL.Path, err, a.raw)
	}
	if a.status < 400 {
		described.mu.Lock()
		described.good[route.Operation.OperationID] = true
		described.mu.Unlock()
	}
}

func (a answer) checkProblem(r *http.Request) {
	a.t.Helper()
	code := fault.Code(a.code())
	if a.header.Get("Content-Type") != "application/problem+json" || a.body["type"] != "/problems/"+string(code) ||
		a.number("status") != int64(a.status) || status.Of(code) != a.status || a.body["title"] != code.Title() ||
		a.body["request_id"] != a.header.Get("X-Request-Id") || a.body["detail"] == "" {
		a.t.Errorf("%s %s: not a whole problem: %d %s", r.Method, r.URL.Path, a.status, a.raw)
	}
	described.mu.Lock()
	described.codes[code] = true
	described.mu.Unlock()
}

func (a answer) code() string {
	code, _ := a.body["code"].(string)
	return code
}

// want fails the test where the status is another one.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.raw)
	}
	return a
}

// refused fails the test where the code, or one of the fields, is missing.
func (a answer) refused(code fault.Code, fields ...string) answer {
	a.t.Helper()
	if a.code() != string(code) {
		a.t.Fatalf("code %q, want %q: %d %s", a.code(), code, a.status, a.raw)
	}
	found, _ := a.body["fields"].(map[string]any)
	for _, field := range fields {
		if _, ok := found[field]; !ok {
			a.t.Errorf("the field %q is not named: %s", field, a.raw)
		}
	}
	return a
}

// at walks into the body by keys and indices.
func (a answer) at(path ...any) any {
	a.t.Helper()
	var v any = a.body
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				a.t.Fatalf("nothing at %v: %s", path, a.raw)
			}
			v = l[s]
		}
	}
	return v
}

func (a answer) text(path ...any) string {
	a.t.Helper()
	s, ok := a.at(path...).(string)
	if !ok {
		a.t.Fatalf("no text at %v: %s", path, a.raw)
	}
	return s
}

func (a answer) number(path ...any) int64 {
	a.t.Helper()
	n, _ := a.at(path...).(json.Number)
	v, err := n.Int64()
	if err != nil {
		a.t.Fatalf("no number at %v: %s", path, a.raw)
	}
	return v
}

func (a answer) count(path ...any) int {
	a.t.Helper()
	l, ok := a.at(path...).([]any)
	if !ok {
		a.t.Fatalf("no list at %v: %s", path, a.raw)
	}
	return len(l)
}
