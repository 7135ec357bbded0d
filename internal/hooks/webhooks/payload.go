package webhooks

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// maxBody bounds a body, in bytes. A longer one goes without what was before and what is now.
	maxBody = 256 << 10
	// testType is the type of a message that a person sends to see whether it arrives.
	testType = "webhook.test"
)

// message is the body of a delivery.
type message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	Workspace ids.ID         `json:"workspace"`
	EventID   int64          `json:"event_id,omitempty"`
	Seq       int64          `json:"seq"`
	Job       string         `json:"job,omitempty"`
	Previous  map[string]any `json:"previous,omitempty"`
	New       map[string]any `json:"new,omitempty"`
	Actor     actor          `json:"actor"`
	Truncated bool           `json:"truncated,omitempty"`
}

type actor struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// digest stands for a value of more than 1 KB.
type digest struct {
	SHA256 string `json:"sha256"`
}

// encodeBody returns the body that tells of an event.
func encodeBody(workspace ids.ID, seq int64, e eventlog.Event) (string, error) {
	m := message{Type: string(e.Type), Timestamp: e.At.UTC(), Data: data{Workspace: workspace, EventID: e.ID, Seq: seq, Job: findKey(e),
		Actor: actor{Kind: string(e.Actor.Kind), ID: e.Actor.ID, Name: e.Actor.Name}}}
	if len(e.Changes) > 0 {
		m.Data.Previous, m.Data.New = map[string]any{}, map[string]any{}
	}
	for _, c := range e.Changes {
		m.Data.Previous[c.Field] = shorten(c.Old, c.OldSHA256)
		m.Data.New[c.Field] = shorten(c.New, c.NewSHA256)
	}
	body, err := encode(m)
	if err == nil && len(body) > maxBody {
		m.Data.Previous, m.Data.New, m.Data.Truncated = nil, nil, true
		body, err = encode(m)
	}
	return body, err
}

func shorten(value any, sum string) any {
	if sum != "" {
		return digest{sum}
	}
	return value
}

// findKey returns the key of an event's job, also of one that is deleted.
func findKey(e eventlog.Event) string {
	if e.JobKey != "" || e.Type != eventlog.JobPurged {
		return e.JobKey
	}
	var gone struct {
		Key string `json:"key"`
	}
	_ = json.Unmarshal(e.Payload, &gone) // without its key the job has none
	return gone.Key
}

func encode(m message) (string, error) {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	err := to.Encode(m)
	return string(bytes.TrimRight(out.Bytes(), "\n")), err
}
