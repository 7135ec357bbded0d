package repos

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// patience is how long a call of git may take.
	patience = 2 * time.Minute
	// clonePatience is how long the first fetch of a repository may take.
	clonePatience = time.Hour
	// lingers is how long what git started may keep its output open after it.
	lingers = 5 * time.Second
	// maxComplaints is how much of what git complained is kept, in bytes.
	maxComplaints = 16 << 10
)

// call is where and with what git runs. Its repository is named, never looked for: nothing
// in a work tree says which one it is.
type call struct {
	dir      string // the current directory; "" is the repository's
	repo     string // GIT_DIR
	workTree string // "" for none
	index    string // "" is the repository's own
	objects  string // where objects are written; "" is the repository's own
	env      []string
	settings []setting // beside those that each call has
	global   string    // a file of more, which git's own children read too; "" for none
	stdin    io.Reader
	longest  time.Duration // 0 is patience
	lingers  time.Duration // 0 is the constant lingers
}

// setting is one of git's configuration.
type setting struct{ key, value string }

// fixed are the settings of each call: nothing that a repository says is run.
var fixed = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.attributesFile=/dev/null",
	"core.autocrlf=false", "core.safecrlf=false", "core.quotePath=false", "core.bigFileThreshold=16m", "commit.gpgSign=false",
	"gc.auto=0", "maintenance.auto=false", "fetch.prune=false", "fetch.recurseSubmodules=false", "fetch.writeCommitGraph=false",
	"submodule.recurse=false", "protocol.ext.allow=never", "protocol.file.allow=always", "diff.ignoreSubmodules=all",
	"advice.detachedHead=false", "core.fsync=committed,reference", "core.fsyncMethod=batch",
}

// run runs git and returns what it printed, without the last end of line.
func (c call) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	if err := c.stream(ctx, &out, args...); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// do runs git for what it does.
func (c call) do(ctx context.Context, args ...string) error {
	return c.stream(ctx, io.Discard, args...)
}

// ok reports whether git ends without an error.
func (c call) ok(ctx context.Context, args ...string) bool { return c.do(ctx, args...) == nil }

// stream runs git and writes what it prints.
func (c call) stream(ctx context.Context, out io.Writer, args ...string) error {
	longest := c.longest
	if longest == 0 {
		longest = patience
	}
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	var all []string
	for _, f := range fixed {
		all = append(all, "-c", f)
	}
	cmd := exec.CommandContext(limited, "git", append(all, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = c.directory(), c.environment(), c.stdin, cmp.Or(c.lingers, lingers)
	// Programs that git starts, such as ssh, end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	complaints := &beginning{left: maxComplaints}
	said := &beginning{left: maxComplaints}
	cmd.Stderr = complaints
	err := runInto(limited, cmd, io.MultiWriter(out, said))
	if err == nil {
		return nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it took longer than %s", longest)
	}
	words := strings.TrimSpace(complaints.String())
	if words == "" {
		words = strings.TrimSpace(said.String())
	}
	return fmt.Errorf("git %s: %w: %s", args[0], err, withoutCredentials(strings.ToValidUTF8(words, "?")))
}

// runInto runs a command and writes what it prints. However slowly out takes it, all of it is written:
// WaitDelay, which counts from the end of the command, is for what its own children keep open.
func runInto(ctx context.Context, cmd *exec.Cmd, out io.Writer) error {
	printed, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// What was killed prints no more, but a child that left its group may keep the pipe.
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(cmd.WaitDelay, func() { _ = printed.Close() }) })
	defer stop()
	_, failed := io.Copy(out, printed)
	if failed != nil {
		_ = printed.Close() // the command ends by what it cannot print
	}
	return cmp.Or(cmd.Wait(), failed)
}

func (c call) directory() string {
	if c.dir != "" {
		return c.dir
	}
	return c.repo
}

// Of the worker's environment git gets inheritedVariables, and the variables whose names begin
// with one of inheritedPrefixes: the way to the origin and the keys to it.
var (
	inheritedVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS",
		"SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "KRB5CCNAME", "KRB5_CONFIG",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE",
		"SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_EXEC_PATH",
		"GIT_PROXY_SSL_CAINFO", "GIT_PROXY_SSL_CERT", "GIT_PROXY_SSL_KEY"}
	inheritedPrefixes = []string{"XDG_", "GIT_SSL_", "GIT_HTTP_", "GCM_", "AWS_"}
)

// environment is git's. Settings of the system and of the person are not read; those that are
// allowed come with the call.
func (c call) environment() []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + cmp.Or(c.global, "/dev/null"), "GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1"}
	env = append(env, inheritedEnvironment()...)
	for name, value := range map[string]string{"GIT_DIR": c.repo, "GIT_WORK_TREE": c.workTree, "GIT_INDEX_FILE": c.index,
		"GIT_OBJECT_DIRECTORY": c.objects, "GIT_CEILING_DIRECTORIES": c.directory()} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, fmt.Sprint("GIT_CONFIG_COUNT=", len(c.settings)))
	for i, s := range c.settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return append(env, c.env...) // the last one of a name counts
}

// inheritedEnvironment returns the part of the worker's environment that git gets.
func inheritedEnvironment() (env []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.Contains(inheritedVariables, name) || slices.ContainsFunc(inheritedPrefixes, begins) {
			env = append(env, v)
		}
	}
	return env
}

// beginning keeps the beginning of what is written, and takes all.
type beginning struct {
	bytes.Buffer
	left int
}

func (b *beginning) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.left)]
	b.left -= len(kept)
	_, _ = b.Buffer.Write(kept) // it never fails
	return len(p), nil
}

// status returns the status that git ended with, -1 where it did not run or was killed.
func status(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// credentials are a name, or a name and a password, in an address.
var credentials = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/\s@]+@`)

// withoutCredentials returns a text without those in its addresses.
func withoutCredentials(text string) string { return credentials.ReplaceAllString(text, "$1") }

// publicURL returns an origin's address as others may see it: "" where it is a path of this
// host.
func publicURL(origin string) string {
	at, err := url.Parse(origin)
	if err == nil && at.Scheme != "" && at.Scheme != "file" {
		at.User = nil
		return at.String()
	}
	if isRemotePath(origin) && strings.Contains(origin, "@") {
		return origin // git@host:team/name
	}
	return ""
}

// isRemotePath reports whether an address has the form host:path.
func isRemotePath(address string) bool {
	host, _, ok := strings.Cut(address, ":")
	return ok && !strings.Contains(address, "://") && !strings.Contains(host, "/")
}
