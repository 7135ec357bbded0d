package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// basePath is where the API has its calls.
const basePath = "/api/v1"

// maxAnswer bounds what a tool answers, in bytes: it is read by a model.
const maxAnswer = 1 << 20

// carryOut makes the call that a tool stands for and returns what the API answers: its JSON, or
// its problem as an error of the tool.
func (s *Server) carryOut(c *caller, t *tool, raw json.RawMessage) (result *protocol.CallToolResult) {
	to := &answer{header: http.Header{}}
	defer func() {
		if r := recover(); r != nil { // the SDK would end the process
			s.Log.ErrorContext(c.request.Context(), "tool failed", "tool", t.name, "panic", fmt.Sprintf("%v\n%s", r, debug.Stack()))
			to = &answer{header: http.Header{}}
			s.API.Refuse(to, c.request, fault.New(fault.Internal, "Something went wrong on the server."))
			result = to.result()
		}
	}()
	call, err := t.request(c.request, raw)
	if err != nil {
		s.API.Refuse(to, c.request, err)
		return to.result()
	}
	s.API.ServeHTTP(to, call)
	if to.body.Len() > maxAnswer && to.status < http.StatusBadRequest {
		changed := "Ask for less: fewer fields, or a smaller limit."
		if call.Method != http.MethodGet {
			changed = "It was carried out; read the job for what became of it."
		}
		to = &answer{header: http.Header{}}
		s.API.Refuse(to, c.request, fault.New(fault.TooLarge, "The answer has more than %d KB. %s", maxAnswer>>10, changed))
	}
	return to.result()
}

// request returns the call of the API, in the name of whoever sent from.
func (t *tool) request(from *http.Request, raw json.RawMessage) (*http.Request, error) {
	in, err := readArguments(raw)
	if err != nil {
		return nil, err
	}
	if err := t.check(in); err != nil {
		return nil, err
	}
	id := t.calls[0]
	if t.choose != nil {
		if id, err = t.choose(in); err != nil {
			return nil, err
		}
	}
	op := operations()[id]
	address, body, err := op.address(in)
	if err != nil {
		return nil, err
	}
	for name, value := range t.whole {
		if !address.Has(name) {
			address.query.Set(name, value)
		}
	}
	r, err := http.NewRequestWithContext(from.Context(), op.method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "Nothing can have this name.")
	}
	r.RemoteAddr, r.Host = from.RemoteAddr, from.Host
	for _, name := range []string{"Authorization", "X-Forwarded-For"} {
		r.Header[name] = from.Header.Values(name)
	}
	r.Header.Set("Accept", "application/json")
	if op.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// target is where a call goes.
type target struct {
	path  string
	query url.Values
}

// Has reports whether the query has a parameter.
func (t target) Has(name string) bool { return t.query.Has(name) }

// String returns the address.
func (t target) String() string { return "http://tools" + basePath + t.path + "?" + t.query.Encode() }

// address puts the arguments of a tool where its call takes them. What the call does not know stays
// in the body, or in the query of a call without one, where the API refuses it.
func (op operation) address(in *arguments) (target, []byte, error) {
	to := target{path: op.path, query: url.Values{}}
	var body []member
	for _, m := range in.members {
		switch op.in(m.name) {
		case "path":
			name, err := oneText(m)
			if err != nil {
				return to, nil, err
			}
			if !strings.Contains(to.path, "{"+m.name+"}") {
				return to, nil, unreadable(m.name, "It must be given once.")
			}
			to.path = strings.Replace(to.path, "{"+m.name+"}", url.PathEscape(name), 1)
		case "query":
			if texts := texts(m.value); op.joins(m.name) && len(texts) > 0 {
				to.query.Add(m.name, strings.Join(texts, ","))
			} else {
				to.query[m.name] = append(to.query[m.name], texts...)
			}
		default:
			body = append(body, m)
		}
	}
	for _, p := range op.params {
		if p.Value.In == "path" && !in.has(p.Value.Name) {
			return to, nil, fault.Invalid(p.Value.Name, "It must be given.")
		}
	}
	if op.body == nil {
		return to, nil, nil
	}
	return to, object(body), nil
}

// joins reports whether a list of the query is one text with commas.
func (op operation) joins(name string) bool {
	p := op.params.GetByInAndName("query", name)
	return p != nil && p.Explode != nil && !*p.Explode
}

// answer takes what the API answers. It is an http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the headers.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader takes the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write takes a piece of the body.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// result returns what the tool answers.
func (a *answer) result() *protocol.CallToolResult {
	text := strings.TrimSpace(a.body.String())
	if a.status == http.StatusNoContent { // of a claim
		none, _ := json.Marshal(map[string]any{"jobs": []any{}, "queue_version": a.header.Get("X-Queue-Version"),
			"reason": a.header.Get("X-Claim-Reason")}) // of texts
		text = string(none)
	}
	return &protocol.CallToolResult{IsError: a.status >= http.StatusBadRequest,
		Content: []protocol.Content{&protocol.TextContent{Text: text}}}
}
