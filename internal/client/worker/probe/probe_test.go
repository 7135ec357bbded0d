package probe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/engines"
)

type engine struct {
	name, version string
	err           error
}

func (e engine) Name() string                          { return e.name }
func (e engine) Probe(context.Context) (string, error) { return e.version, e.err }
func (e engine) Run(context.Context, engines.Task, func(engines.Event)) (engines.Result, error) {
	return engines.Result{}, errors.New("a probe runs nothing")
}

// What is only installed is not offered: it must have run.
func TestOnlyWhatRanIsOffered(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	for name, script := range map[string]string{
		"go":     "#!/bin/sh\necho go version go1.26.8 linux/amd64\n",
		"node":   "#!/bin/sh\necho v20.20.2\n",
		"docker": "#!/bin/sh\necho Docker version 28.2.2; exit 1\n", // it does not work here
		"java":   "#!/bin/sh\necho 'openjdk version \"17.0.15\"' >&2\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h := Of(
		t.Context(),
		[]engines.Engine{
			engine{name: "claude", version: "2.1.330 (Claude Code)"},
			engine{name: "codex", err: errors.New("codex is not installed")},
		},
	)
	h.Capabilities = slices.DeleteFunc(h.Capabilities, func(c string) bool { return strings.HasPrefix(c, "arch:") })
	want := []string{
		"go:1",
		"go:1.26",
		"has:go",
		"has:java",
		"has:node",
		"java:17",
		"java:17.0",
		"node:20",
		"node:20.20",
	}
	if !slices.Equal(h.Capabilities, want) {
		t.Errorf("capabilities are %v, must be %v", h.Capabilities, want)
	}
	if len(h.Engines) != 1 || !slices.Equal(h.Engines["claude"], []string{"claude:2", "claude:2.1"}) || h.Missing["codex"].Error() != "codex is not installed" {
		t.Errorf("engines are %v, missing %v", h.Engines, h.Missing)
	}
}
