package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// maxRequest bounds what is read of a request.
const maxRequest = 64 << 20

// New returns a model that says what the script says, at each path that ends as those of
// the providers do.
func New(script []Step) http.Handler { return &model{script: script} }

type model struct {
	script []Step
	calls  atomic.Int64
}

// object is a JSON object.
type object map[string]any

// request is what is looked at of a call, in any of the formats.
type request struct {
	Model    string `json:"model"`
	Messages []item `json:"messages"`
	Input    []item `json:"input"`
	Tools    []struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
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
		w.Header().Set("Content-Type", "text/event-stream")
		answer(&stream{w: w, call: m.calls.Add(1)}, in)
		return
	}
	http.NotFound(w, r)
}

// step is the answer to a call that offers one of the shells, and which of them it offers.
func (m *model) step(in request, said []item, isResult func(item) bool, shells ...string) (step Step, shell string) {
	for _, name := range shells {
		for _, t := range in.Tools {
			if shell == "" && (t.Name == name || t.Function.Name == name) {
				shell = name
			}
		}
	}
	if shell == "" {
		return aside, ""
	}
	results := 0
	for _, one := range slices.Backward(said) {
		if isResult(one) {
			results++
		} else if one.Role == "user" {
			break
		}
	}
	return m.script[min(results, len(m.script)-1)], shell
}

// stream writes server-sent events. What does not arrive is not missed.
type stream struct {
	w    http.ResponseWriter
	call int64
}

// id names something of this call.
func (s *stream) id(kind string) string { return fmt.Sprintf("%s_%04d", kind, s.call) }

// send writes an event; one without a name has data alone.
func (s *stream) send(event string, data object) {
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
