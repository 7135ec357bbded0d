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
	case "claude":
		return Claude(Options{}), nil
	case "codex":
		return Codex(Options{}), nil
	case "opencode":
		return OpenCode(Options{}), nil
	case "scripted":
		return Scripted(), nil
	}
	return nil, fmt.Errorf("there is no engine %q: use claude, codex, opencode, scripted, or command: and a line of the shell", name)
}
