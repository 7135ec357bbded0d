package engines

import (
	"fmt"
	"strings"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// Program is the program of a vendor that the worker knows.
type Program struct {
	// Name is what --engine, jobs and PATH call it, Title what sentences do.
	Name, Title string
	// Variables are how those of its keys and settings begin: it gets them from the host.
	Variables []string
	// usage reads what it prints of its usage.
	usage func(transcript.Run) transcript.Translator
	// steps reads what it prints of what it does on a task.
	steps func(Task) transcript.StepReader
	// totalsOfThread: its usage is that of the whole session, also of what ran before.
	totalsOfThread bool
	// start says how it is run on a task.
	start func(task Task, tell func(Event)) (invocation, error)
}

// Programs are all of them. A worker looks for each where --engine names none.
var Programs = []Program{claudeCode, codex, openCode}

// Names returns the names of all programs.
func Names() (names []string) {
	for _, p := range Programs {
		names = append(names, p.Name)
	}
	return names
}

// Titles returns what sentences call them.
func Titles() (titles []string) {
	for _, p := range Programs {
		titles = append(titles, p.Title)
	}
	return titles
}

// Enumerate joins the names or titles for a sentence, with the word before the last one.
func Enumerate(list []string, word string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}

// Variables returns how the variables begin that programs get from the host.
func Variables() (prefixes []string) {
	for _, p := range Programs {
		prefixes = append(prefixes, p.Variables...)
	}
	return prefixes
}

// ByName returns the engine of a name as --engine has it: a program's, scripted, or command: and
// a line of the shell.
func ByName(name string) (Engine, error) {
	if line, ok := strings.CutPrefix(name, "command:"); ok && strings.TrimSpace(line) != "" {
		return Command(line), nil
	}
	for _, p := range Programs {
		if p.Name == name {
			return p.At(p.Name), nil
		}
	}
	if name == "scripted" {
		return Scripted(), nil
	}
	return nil, fmt.Errorf("there is no engine %q: use %s, scripted, or command: and a line of the shell",
		name, strings.Join(Names(), ", "))
}

// At returns the engine that runs the program by a path, or by a name in PATH.
func (p Program) At(path string) Engine { return vendor{p, path} }
