// Package probe finds out what a host offers to jobs. It believes nothing: a program is
// there when it ran and said its version.
package probe

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines"
)

// Patience is how long a program may take to say its version.
const Patience = 20 * time.Second

// toolchains are the programs that are looked for, each with how it prints its
// version. The name of the capability is has:NAME.
var toolchains = map[string][]string{
	"bun": {
		"--version",
	},
	"cargo":  {"--version"},
	"clang":  {"--version"},
	"cmake":  {"--version"},
	"deno":   {"--version"},
	"docker": {"--version"},
	"dotnet": {"--version"},
	"gcc":    {"--version"},
	"gh":     {"--version"},
	"git":    {"--version"},
	"go":     {"version"},
	"java":   {"-version"},
	"make":   {"--version"},
	"mvn":    {"--version"},
	"node":   {"--version"},
	"npm":    {"--version"},
	"php":    {"--version"},
	"pnpm":   {"--version"},
	"psql": {
		"--version",
	},
	"python3": {"--version"},
	"ruby":    {"--version"},
	"rustc":   {"--version"},
	"swift":   {"--version"},
	"uv":      {"--version"},
	"yarn":    {"--version"},
}

// Host is what a host offers.
type Host struct {
	OS string // as Go names it: linux, darwin, windows
	// Capabilities are arch:ARCH, has:PROGRAM and PROGRAM:VERSION, with the major version
	// and with major and minor: go:1, go:1.26.
	Capabilities []string
	// Engines are those that ran, each with the capabilities that its version is.
	Engines map[string][]string
	// Missing says of each engine that did not run, why.
	Missing map[string]error
}

// Of probes this host for the toolchains and the engines, several at once.
func Of(ctx context.Context, all []engines.Engine) Host {
	h := Host{OS: runtime.GOOS, Capabilities: []string{"arch:" + runtime.GOARCH}, Engines: map[string][]string{},
		Missing: map[string]error{}}
	var mu sync.Mutex
	var group sync.WaitGroup
	for name, ask := range toolchains {
		group.Go(func() {
			if version, ok := ran(ctx, name, ask); ok {
				mu.Lock()
				defer mu.Unlock()
				h.Capabilities = append(h.Capabilities, capabilities(name, version)...)
			}
		})
	}
	for _, e := range all {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, Patience)
			defer cancel()
			version, err := e.Probe(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				h.Missing[e.Name()] = err
				return
			}
			h.Engines[e.Name()] = Versions(e.Name(), version)
		})
	}
	group.Wait()
	slices.Sort(h.Capabilities)
	return h
}

// ran runs a program and returns what it printed.
func ran(ctx context.Context, name string, ask []string) (string, bool) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, ask...).CombinedOutput()
	return string(out), err == nil
}

func capabilities(name, printed string) []string {
	return append([]string{"has:" + name}, Versions(name, printed)...)
}

// number is a version in what a program prints: two to four numbers with dots.
var number = regexp.MustCompile(`\b(?:v|go)?([0-9]{1,9})\.([0-9]{1,9})(?:\.[0-9]{1,9}){0,2}`)

// Versions returns the capabilities of a version that a program printed, or none.
func Versions(name, printed string) []string {
	found := number.FindStringSubmatch(strings.SplitN(printed, "\n", 2)[0])
	if found == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s:%s", name, found[1]), fmt.Sprintf("%s:%s.%s", name, found[1], found[2])}
}
