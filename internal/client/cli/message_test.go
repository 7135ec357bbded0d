package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/jobstest"
)

// Somebody writes to a role, finds it again, and exports it twice: each line is in the file
// once, also after a crash in the middle of a line.
func TestMessagesFromTheCommandLine(t *testing.T) {
	w := newServerAndTerminal(t)
	w.fleet("msg", "send", "--to", "role:worker", "--thread", "release", "ship", "it").shows("role:worker", "release")
	w.fleet("msg", "send", "--to", "role:worker", "--payload", `{"n":1}`).ok()
	for _, args := range [][]string{{"msg", "send", "--to", "ada", "hello"}, {"msg", "send", "--to", "all"},
		{"msg", "send", "--to", "all", "--payload", "{", "x"}, {"msg", "ack", "here"}} {
		w.fleet(args...).ends(2)
	}
	w.fleet("msg", "thread", "release").shows("ship it")
	// What was sent is found, and exported, when older transactions have ended.
	jobstest.IndexMessages(t, w.db)
	w.fleet("msg", "search", "shi").shows("ship")
	w.fleet("msg", "inbox").ok()
	w.fleet("msg", "dead", "list").ok()
	w.fleet("bus", "archives").ok()
	w.fleet("msg", "dead", "redrive", "01a209be-9caa-7645-95f5-a57496ce2dfd").ends(4)
	file := filepath.Join(t.TempDir(), "bus.jsonl")
	lines := func() [][]byte {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	}
	w.fleet("bus", "export", "disk", "-o", file).ok()
	for len(lines()) < 2 {
		w.fleet("bus", "export", "disk", "-o", file).ok()
	}
	whole := lines()
	if err := os.WriteFile(file, append(bytes.Join(whole, []byte("\n")), []byte("\n{\"position\":\"9")...), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fleet("msg", "send", "--to", "role:worker", "third").ok()
	for len(lines()) < 3 || !json.Valid(lines()[2]) {
		w.fleet("bus", "export", "disk", "-o", file).ok()
	}
	if got := lines(); len(got) != 3 || !strings.Contains(string(got[2]), "third") {
		t.Errorf("the file has %q", got)
	}
	w.fleet("bus", "exports").shows("disk", "messages")
	w.fleet("bus", "tail", "disk").ok()
	if err := os.WriteFile(file, []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fleet("bus", "export", "disk", "-o", file).ends(3)
}

// shows fails the test where a command did not end with 0 and print these texts.
func (r ran) shows(texts ...string) {
	r.t.Helper()
	out := r.ok()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			r.t.Errorf("%s does not show %q:\n%s", r.line, text, out)
		}
	}
}

// A large text comes from stdin, and is read back as the blob that the message names.
func TestALargeTextIsKeptAsABlob(t *testing.T) {
	w := newServerAndTerminal(t)
	text := strings.Repeat("large ", 10_000)
	said := w.fleetIn(text, "msg", "send", "--to", "role:worker", "--thread", "large", "-", "--json").ok()
	var sent struct {
		Blob    string
		Payload any
	}
	if err := json.Unmarshal([]byte(said), &sent); err != nil || sent.Payload != nil {
		t.Fatalf("it was sent as %.200s, %v", said, err)
	}
	w.fleet("msg", "thread", "large").shows("blob " + sent.Blob[:8])
	if got := w.fleet("blob", "get", sent.Blob).ok(); got != `{"text":"`+text+`"}` {
		t.Errorf("it is read as %d bytes", len(got))
	}
}
