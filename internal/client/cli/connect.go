package cli

import (
	"cmp"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
)

const (
	// localServer is called where nothing names another one.
	localServer = "http://127.0.0.1:8080"
	// retries and longestPause bound how long a command waits for a server that is away.
	retries      = 3
	longestPause = 2 * time.Second
)

// target is the server that a command calls, and with which tokens. from says where the
// person's token is from, for people to read.
type target struct {
	name, server     string
	token, enrolment string
	from             string
}

// target finds the server: --context, then --server or FLEETBOARD_URL, then the current
// context, then this machine. A stored token goes only to the server that it is stored for.
func (c *cli) target() (target, error) {
	cfg, err := c.env.loadConfig()
	if err != nil {
		return target{}, err
	}
	if c.context != "" {
		saved, ok := cfg.Contexts[c.context]
		if !ok {
			return target{}, fail(exitNotFound, "there is no context %q: `fleet context list` shows those that there are", c.context)
		}
		if at := strings.TrimSuffix(c.server, "/"); at != "" && at != saved.Server {
			return target{}, fail(exitUsage, "--context %s is %s, and --server names %s: give one of them", c.context, saved.Server, at)
		}
		return c.ofContext(c.context, saved), nil
	}
	at := strings.TrimSuffix(cmp.Or(c.server, c.env.Getenv("FLEETBOARD_URL")), "/")
	found := target{server: at}
	if name, ok := cfg.findContext(at); ok {
		found = c.ofContext(name, cfg.Contexts[name])
	}
	found.server = cmp.Or(found.server, localServer)
	if token := c.env.Getenv("FLEETBOARD_TOKEN"); token != "" {
		found.token, found.from = strings.TrimSpace(token), "FLEETBOARD_TOKEN"
	}
	found.enrolment = cmp.Or(c.env.enrolmentOfEnv(), found.enrolment)
	if loopback(found.server) {
		c.env.addLocal(&found)
	}
	return found, nil
}

func (c *cli) ofContext(name string, saved savedContext) target {
	return target{name: name, server: saved.Server, token: saved.Token, enrolment: cmp.Or(saved.EnrolmentToken, c.env.enrolmentOfEnv()),
		from: "context " + name}
}

// findContext returns the context of a server, the current one first; "" means the current one.
func (cfg config) findContext(server string) (string, bool) {
	if current, ok := cfg.Contexts[cfg.Current]; ok && (server == "" || current.Server == server) {
		return cfg.Current, true
	}
	if server == "" {
		return "", false
	}
	for _, name := range sortedKeys(cfg.Contexts) {
		if cfg.Contexts[name].Server == server {
			return name, true
		}
	}
	return "", false
}

// enrolmentOfEnv is FLEETBOARD_ENROLMENT_TOKEN, or what its _FILE has.
func (e Env) enrolmentOfEnv() string {
	if token := e.Getenv("FLEETBOARD_ENROLMENT_TOKEN"); token != "" {
		return strings.TrimSpace(token)
	}
	if path := e.Getenv("FLEETBOARD_ENROLMENT_TOKEN_FILE"); path != "" {
		return readTrimmed(path)
	}
	return ""
}

// addLocal adds the tokens that a server on this machine left in its data directory.
func (e Env) addLocal(found *target) {
	dir := e.dataDir()
	if dir == "" {
		return
	}
	if path := filepath.Join(dir, "owner-token"); found.token == "" {
		if found.token = readTrimmed(path); found.token != "" {
			found.from = path
		}
	}
	if found.enrolment == "" {
		found.enrolment = readTrimmed(filepath.Join(dir, "enrolment-token"))
	}
}

// dataDir is where a server of this person keeps its data.
func (e Env) dataDir() string {
	if dir := e.Getenv("FLEETBOARD_DATA_DIR"); dir != "" {
		return dir
	}
	if base := e.Getenv("XDG_DATA_HOME"); base != "" {
		return filepath.Join(base, "fleetboard")
	}
	if home := e.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "fleetboard")
	}
	return ""
}

// readTrimmed returns the text of a file, empty where it cannot be read.
func readTrimmed(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// loopback reports whether an address is of this machine.
func loopback(server string) bool {
	at, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(at.Hostname())
	return at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// connect returns a client for the server with the person's token.
func (c *cli) connect() (*api.Client, error) {
	to, err := c.target()
	if err != nil {
		return nil, err
	}
	if to.token == "" {
		return nil, fail(exitNotAllowed, "there is no token for %s: run `fleet login`, or set FLEETBOARD_TOKEN", to.server)
	}
	c.asked = to
	return dial(to.server, to.token)
}

// dial returns a client for a server; a wrong address is the caller's mistake.
func dial(server, token string) (*api.Client, error) {
	to, err := client.New(server, token, api.Options{Retries: retries, LongestPause: longestPause})
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return to, nil
}

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
