package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/fleetboard/fleetboard/api"
)

// heldAgent is the agent as which this person claims jobs from the command line, kept
// between commands. Only its owner reads the file: it has the agent's token.
type heldAgent struct {
	Server         string    `json:"server"`
	Name           string    `json:"name"`
	BootID         string    `json:"boot_id"`
	Token          string    `json:"token"`
	TokenExpiresAt time.Time `json:"token_expires_at"`
	// Registration is what was said of it, to be said again when the token has ended.
	Registration api.Registration `json:"registration"`
	// Leases are the epochs of the jobs that it holds, by key.
	Leases map[string]int64 `json:"leases"`

	path string
}

// agentDir has a file for each server and agent.
const agentDir = "agents"

// agentPath returns the file of an agent on a server.
func (e Env) agentPath(server, name string) (string, error) {
	if e.StateDir == "" {
		return "", errors.New("there is no folder to remember leases in: set HOME, or XDG_STATE_HOME")
	}
	sum := sha256.Sum256([]byte(server + "\n" + name))
	return filepath.Join(e.StateDir, agentDir, hex.EncodeToString(sum[:8])+".json"), nil
}

// withAgents holds the lock on what commands remember, so that two of them at once do not
// lose each other's leases.
func (e Env) withAgents(ctx context.Context, do func() error) error {
	dir := filepath.Join(e.StateDir, agentDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return do()
}

// loadAgent reads an agent; nil where there is none.
func loadAgent(path string) (*heldAgent, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := &heldAgent{path: path}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, fail(exitFailure, "%s is not what `fleet job claim` writes; remove it: %w", path, err)
	}
	return a, nil
}

// holder returns the agent of this person that holds a job on a server, with the job's key as the
// server writes it; nil where none does.
func (e Env) holder(server, job string) (*heldAgent, string, error) {
	paths, err := filepath.Glob(filepath.Join(e.StateDir, agentDir, "*.json"))
	if err != nil {
		return nil, "", err
	}
	for _, path := range paths {
		a, err := loadAgent(path)
		if err != nil {
			return nil, "", err
		}
		if a == nil || a.Server != server {
			continue
		}
		for _, key := range []string{job, strings.ToUpper(job)} {
			if a.Leases[key] > 0 {
				return a, key, nil
			}
		}
	}
	return nil, "", nil
}

// keep notes a lease, or with an epoch of 0 that it ended.
func (e Env) keep(ctx context.Context, a *heldAgent, job string, epoch int64) error {
	return e.withAgents(ctx, func() error {
		now, err := loadAgent(a.path)
		if err != nil {
			return err
		}
		if now == nil || now.BootID != a.BootID {
			now = a
		}
		if now.Leases == nil {
			now.Leases = map[string]int64{}
		}
		if epoch == 0 {
			delete(now.Leases, job)
		} else {
			now.Leases[job] = epoch
		}
		now.Token, now.TokenExpiresAt, now.Registration = a.Token, a.TokenExpiresAt, a.Registration
		return writePrivate(a.path, now)
	})
}

// register registers an agent, or gets it a new token, with the enrolment token.
func (c *cli) register(ctx context.Context, a *heldAgent, enrolment string) error {
	if enrolment == "" {
		return fail(exitNotAllowed,
			"an agent of %s needs an enrolment token: `fleet login` with one, or set FLEETBOARD_ENROLMENT_TOKEN", a.Server)
	}
	server, err := dial(a.Server, enrolment)
	if err != nil {
		return err
	}
	_, said, err := readInto[api.Registered](server.RegisterAgent(ctx, a.Name, a.Registration))
	if err != nil {
		return err
	}
	a.Token, a.TokenExpiresAt = said.Token, said.TokenExpiresAt
	return nil
}

// dialAgent returns a client with the agent's token, which is renewed where it ends soon.
func (c *cli) dialAgent(ctx context.Context, a *heldAgent, enrolment string) (*api.Client, error) {
	if a.TokenExpiresAt.Sub(c.env.Now()) < time.Minute {
		if err := c.register(ctx, a, enrolment); err != nil {
			return nil, err
		}
	}
	return dial(a.Server, a.Token)
}

// random returns a name that nobody guesses, of 128 bits.
func random() string { return rand.Text() }

// requestKey returns a new idempotency key: it lets a call be sent again that got no answer.
func requestKey() *string {
	key := random()
	return &key
}
