package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Each command shows an example, and each example is a line that the command takes.
func TestEachCommandHasAnExampleThatFits(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		used[path] = true
		for _, below := range cmd.Commands() {
			walk(below)
		}
		if cmd.HasSubCommands() && cmd.Example == "" {
			return // it shows its commands
		}
		if cmd.Example == "" {
			t.Errorf("`%s` has no example", cmd.CommandPath())
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			takes(t, line)
		}
	}
	walk(NewRoot())
	for path := range examples {
		if !used[path] && path != "completion" {
			t.Errorf("there is no command %q", path)
		}
	}
}

// takes fails the test where a line is none that a command takes.
func takes(t *testing.T, line string) {
	t.Helper()
	words := exec.CommandContext(t.Context(), "bash", "-c", `fleet() { printf '%s\n' "$@"; }; git() { echo 0123abc; }; eval "$1"; printf '%s\n' "${key-}"`,
		"words", strings.TrimSpace(line))
	words.Dir = t.TempDir()
	words.Env = []string{"HOME=" + words.Dir}
	out, err := words.CombinedOutput()
	if err != nil || strings.Contains(line, ">") {
		if err != nil && !strings.Contains(line, ">") {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		return
	}
	args := strings.Split(strings.TrimSpace(string(out)), "\n")
	if args[0] == "help" {
		return
	}
	root := NewRoot()
	found, left, err := root.Find(args)
	if err != nil || found.HasSubCommands() && !found.HasParent() {
		t.Errorf("%s is no command: %v", line, err)
		return
	}
	if err := found.ParseFlags(left); err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if found.Args != nil {
		if err := found.Args(found, found.Flags().Args()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
