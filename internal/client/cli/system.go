package cli

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/term"
)

// Env is what a command finds around it.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	// Getenv reads a variable of the environment.
	Getenv func(name string) string
	// Environ are all of them, as "NAME=value"; nil where they are unknown.
	Environ func() []string
	// ConfigDir has config.json, StateDir what commands remember for later ones.
	ConfigDir, StateDir string
	Now                 func() time.Time
	// Pause is between two looks at what a command follows; 0 takes the usual one.
	Pause time.Duration
	// Terminal says that Out is one, Width how many columns it has; 0 is unknown.
	Terminal bool
	Width    func() int
	// AskSecret reads a line that is not shown; nil where In is no terminal.
	AskSecret func() (string, error)
	// Conceal takes the tokens of a worker out of the environment, but for the variables that
	// are passed on; nil leaves them.
	Conceal func(passed []string) error
}

// System returns the Env of this process.
func System() Env {
	e := Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Now: time.Now, Conceal: conceal,
		Terminal: term.IsTerminal(int(os.Stdout.Fd()))}
	e.Width = func() int {
		width, _, _ := term.GetSize(int(os.Stdout.Fd()))
		return width
	}
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		e.AskSecret = func() (string, error) {
			secret, err := term.ReadPassword(in)
			return string(secret), err
		}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		e.ConfigDir = filepath.Join(dir, "fleet")
	}
	e.StateDir = stateDir(e.ConfigDir)
	return e
}

// pace returns how often a command looks that usually does so every usual.
func (e Env) pace(usual time.Duration) time.Duration { return cmp.Or(e.Pause, usual) }

// stateDir is $XDG_STATE_HOME/fleet where systems have such a folder, and else beside the
// configuration.
func stateDir(config string) string {
	if base := os.Getenv("XDG_STATE_HOME"); base != "" {
		return filepath.Join(base, "fleet")
	}
	home, err := os.UserHomeDir()
	if err != nil || runtime.GOOS != "linux" {
		return filepath.Join(config, "state")
	}
	return filepath.Join(home, ".local", "state", "fleet")
}
