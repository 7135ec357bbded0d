package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/internal/client/mcptools"
)

// verification is a Verifier that takes what approves.
type verification struct {
	work

	mu    sync.Mutex
	given []string
}

func (v *verification) GiveVerdict(_ context.Context, raw json.RawMessage) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !strings.Contains(string(raw), `"approve"`) {
		return errors.New("verdict must be approve, changes or unsure")
	}
	v.given = append(v.given, string(raw))
	return nil
}

// serveVerifier starts the worker's side of a verification, and connects a program.
func serveVerifier(t *testing.T, v *verification) *mcp.ClientSession {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mcptools.ServeVerifier(ctx, l, v) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	return program(t, socket)
}

// Whoever verifies has a tool to say so, and otherwise only one to say what it does; and whoever works has
// none to give a verdict.
func TestAVerifierHasTwoTools(t *testing.T) {
	names := func(s *mcp.ClientSession) (names []string) {
		t.Helper()
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	v := &verification{}
	if got := names(serveVerifier(t, v)); !slices.Equal(got, []string{"give_verdict", "report_progress"}) {
		t.Errorf("a verifier has %v", got)
	}
	if got := names(program(t, serve(t, &work{}))); slices.Contains(got, "give_verdict") || len(got) != 7 {
		t.Errorf("whoever works has %v", got)
	}
}

// A verdict comes as it was said, and what is wrong with one is told to the agent.
func TestAVerdictIsGiven(t *testing.T) {
	v := &verification{}
	s := serveVerifier(t, v)
	for range 2 {
		if said, refused := call(t, s, "give_verdict", map[string]any{"verdict": "fine"}); !refused || !strings.Contains(said, "approve, changes or unsure") {
			t.Errorf("it says %q (refused: %v)", said, refused)
		}
		if said, refused := call(t, s, "give_verdict", map[string]any{"verdict": "approve", "criteria": []any{}, "findings": []any{}}); refused {
			t.Errorf("it says %q", said)
		}
	}
	if said, refused := call(t, s, "report_progress", map[string]any{"step": "reads"}); refused || said != "Reported." || v.steps[0] != "reads" {
		t.Errorf("it says %q", said)
	}
	if want := `{"criteria":[],"findings":[],"verdict":"approve"}`; !slices.Equal(v.given, []string{want, want}) {
		t.Errorf("given were %q", v.given)
	}
}
