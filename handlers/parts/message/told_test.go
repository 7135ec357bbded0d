package message_test

import (
	"testing"

	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
	"github.com/fleetboard/fleetboard/internal/bus"
)

// The server's messages about events read as a story; of others' messages nothing is made up.
func TestEventsAreTold(t *testing.T) {
	for _, c := range []struct {
		from          bus.Kind
		kind, payload string
		want          string
	}{
		{bus.System, bus.StateChange, `{"actor": "Owner", "event": "job.created", "from": null, "to": "ready"}`, "Owner: created, Ready"},
		{bus.System, bus.StateChange, `{"actor": "ada", "from": "assigned", "to": "running"}`, "ada: Assigned → Running"},
		{bus.System, bus.TaskBlocked, `{"actor": "ada", "from": "running", "to": "blocked", "question": "Which one?"}`,
			"ada: Running → Blocked\nQuestion: Which one?"},
		{bus.System, bus.TaskFailed, `{"actor": "ada", "from": "running", "to": "ready", "last_error": "no disk"}`,
			"ada: Running → Ready\nError: no disk"},
		{bus.System, bus.AgentStarted, `{"actor": "ada"}`, "ada: started"},
		{bus.System, bus.ReviewResult, `{"actor": "mara"}`, "mara: review result"},
		{bus.System, "custom.note", `{"text": "hello"}`, ""},
		{bus.ToAgent, bus.TaskDone, `{"actor": "somebody else", "to": "completed"}`, ""},
	} {
		m := bus.Message{Type: c.kind, From: bus.Address{Kind: c.from}, Payload: []byte(c.payload)}
		if got := messageparts.Told(m); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.payload, c.from, got, c.want)
		}
	}
}
