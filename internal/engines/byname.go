package engines

import (
	"fmt"
	"strings"
)

// ByName returns the engine of a name as --engine has it: claude, codex, opencode,
// scripted, or command: and a line of the shell.
func ByName(name string) (Engine, error) {
	if line, ok := strings.CutPrefix(name, "command:"); ok && strings.TrimSpace(line) != "" {
		return Command(line), nil
	}
	switch name {
	case "scripted":
		return Scripted(), nil
	}
	return nil, fmt.Errorf("there is no engine %q: use claude, codex, opencode, scripted, or command: and a line of the shell", name)
}
