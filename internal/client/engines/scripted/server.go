package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// maxRequest bounds what is read of a request.
const maxRequest = 64 << 20

// New returns a model that says what the script says, at each path that ends as those of
// the providers do.
func New(script []Step) http.Handler { return Turns(script) }

// Turns returns a model with a script for each time that the person says something in a
// session; the last one is for all that come later.
func Turns(scripts ...[]Step) http.Handler {
	return &model{scripts: scripts, refused: map[*Step]int{}}
}

type model struct {
	scripts [][]Step
	calls   atomic.Int64
	mu      sync.Mutex
	refused map[*Step]int // how often
}

// object is a JSON object.
type object map[string]any

// request is what is looked at of a call, in any of the formats.
type request struct {
	Model    string `json:"model"`
	Messages []item `json:"messages"`
	Input    []item `json:"input"`
	Tools    []tool `json:"tools"`
}

// tool is one that the program offers, or a namespace of tools.
type tool struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Tools []tool `json:"tools"`
}

// call is one of a tool.
type call struct {
	namespace, name string
	arguments       object
}

// item is something that was said, or the result of a tool.
type item struct {
	Role    string          `json:"role"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

// ServeHTTP answers a call.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in request
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	answers := map[string]func(*stream, request){"/messages": m.messages, "/responses": m.responses, "/chat/completions": m.completions}
	for path, answer := range answers {
		if !strings.HasSuffix(r.URL.Path, path) {
			continue
		}
		if err != nil || json.Unmarshal(body, &in) != nil {
			http.Error(w, "the body must be JSON", http.StatusBadRequest)
			return
		}
		answer(&stream{w: w, call: m.calls.Add(1)}, in)
		return
	}
	http.NotFound(w, r)
}

// step returns the answer to a call that offers one of the shells, and the tool that it calls.
func (m *model) step(s *stream, in request, said []item, isResult func(item) bool, shells ...string) (Step, *call, bool) {
	offered := in.offered()
	shell := -1
	for _, name := range shells {
		if shell < 0 {
			shell = slices.IndexFunc(offered, func(c call) bool { return c.name == name })
		}
	}
	if shell < 0 {
		return aside, nil, true
	}
	next := m.next(said, isResult)
	step := *next
	if m.refuses(next) {
		s.refuse(step.Refuse)
		return step, nil, false
	}
	switch {
	case step.Command != "":
		argument := "command"
		if offered[shell].name == "exec_command" {
			argument = "cmd"
		}
		offered[shell].arguments = object{argument: step.Command, "description": "Scripted"}
		return step, &offered[shell], true
	case step.Tool != "":
		i := slices.IndexFunc(offered, func(c call) bool { return strings.HasSuffix(c.name, step.Tool) })
		if i < 0 {
			step.Text = "No tool " + step.Tool + " is offered."
			return step, nil, true
		}
		offered[i].arguments = step.Arguments
		return step, &offered[i], true
	}
	return step, nil, true
}

// next returns the step that follows what was said.
func (m *model) next(said []item, isResult func(item) bool) *Step {
	turn, results, person := -1, 0, false
	for _, one := range said {
		switch {
		case isResult(one):
			results++
			person = false
		case one.Role == "user": // several in a row are one turn
			if !person {
				turn++
			}
			person, results = true, 0
		case one.Role == "assistant":
			person = false
		}
	}
	script := m.scripts[max(0, min(turn, len(m.scripts)-1))]
	return &script[min(results, len(script)-1)]
}

// refuses says whether a step is refused once more.
func (m *model) refuses(step *Step) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused[step]++
	return m.refused[step] <= step.Refuse.Times
}

// offered returns the tools of a call, those of namespaces too.
func (in request) offered() (all []call) {
	for _, t := range in.Tools {
		all = append(all, call{name: t.Name + t.Function.Name})
		for _, inner := range t.Tools {
			all = append(all, call{namespace: t.Name, name: inner.Name})
		}
	}
	return all
}

// stream writes server-sent events. What does not arrive is not missed.
type stream struct {
	w    http.ResponseWriter
	call int64
}

// id names something of this call.
func (s *stream) id(kind string) string { return fmt.Sprintf("%s_%04d", kind, s.call) }

// refuse answers with an error, as the providers say it.
func (s *stream) refuse(r Refuse) {
	kind := map[int]string{http.StatusTooManyRequests: "rate_limit_error", http.StatusBadRequest: "invalid_request_error"}[r.Status]
	if kind == "" {
		kind = "api_error"
	}
	if r.RetryAfter > 0 {
		s.w.Header().Set("Retry-After", strconv.Itoa(r.RetryAfter))
	}
	s.w.Header().Set("Content-Type", "application/json")
	s.w.WriteHeader(r.Status)
	fmt.Fprint(s.w, raw(object{"type": "error", "error": object{"type": kind, "message": "The script refuses."}}))
}

// send writes an event; one without a name has data alone.
func (s *stream) send(event string, data object) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	if event != "" {
		data["type"] = event
		fmt.Fprintf(s.w, "event: %s\n", event)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", raw(data))
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func raw(data object) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // texts and numbers only
	}
	return string(text)
}
