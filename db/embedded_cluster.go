package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// fallbackRoot holds clusters whose data directory the server's user cannot reach.
	fallbackRoot = "/var/lib/fleetboard"
	// socketPathLimit is what the kernel's sockaddr_un holds on every system we know.
	socketPathLimit = 103
)

// cluster is a place on disk: the cluster in data, its socket in run.
type cluster struct {
	dir  string
	user *account
	log  string // the file of the server's output
	run  string // the directory of the socket
}

func (c cluster) data() string    { return filepath.Join(c.dir, "data") }
func (c cluster) fresh() string   { return filepath.Join(c.dir, "data.new") } // made there before it takes its place
func (c cluster) pidFile() string { return filepath.Join(c.data(), "postmaster.pid") }

// lockFile belongs to the processes of the server; see claim.
func (c cluster) lockFile() string { return filepath.Join(c.dir, "server.lock") }

func (c cluster) socket() string { return filepath.Join(c.run, ".s.PGSQL."+embeddedPort) }

// findCluster says where the cluster of dataDir is or shall be, and makes the
// directories around it.
func findCluster(dataDir string, user *account, fallback string) (c cluster, err error) {
	if c, err = findPlace(dataDir, user, fallback); err != nil {
		return c, err
	}
	c.run, err = c.socketDir()
	return c, err
}

// findPlace finds or makes the cluster's directory. It is recorded where it is
// not dataDir/postgres.
func findPlace(dataDir string, user *account, fallback string) (cluster, error) {
	c := cluster{dir: filepath.Join(dataDir, "postgres"), user: user, log: filepath.Join(dataDir, "postgres.log")}
	record := filepath.Join(dataDir, "postgres.location")
	recorded, err := os.ReadFile(record)
	switch {
	case err == nil:
		c.dir = strings.TrimSpace(string(recorded))
		if _, err := os.Stat(c.data()); err != nil {
			return c,
				fmt.Errorf("the database of this data directory was in %s and is gone; "+
					"restore it, or remove %s to begin with an empty one", c.dir, record)
		}
		return c, nil
	case !errors.Is(err, fs.ErrNotExist):
		return c, fmt.Errorf("reading where the database is: %w", err)
	}
	if blocked := user.blockedBy(dataDir); blocked != "" {
		if c.dir, err = makeFallback(fallback, dataDir, user); err != nil {
			return c, fmt.Errorf("the user %s cannot pass through %s, and no other place could be made: %w", user.name, blocked, err)
		}
	} else if err := os.Mkdir(c.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return c, fmt.Errorf("making the database's directory: %w", err)
	}
	return c, user.own(c.dir)
}

// makeFallback makes a new directory for the cluster. It is never one that was
// there before: a data directory that was removed begins empty.
func makeFallback(root, dataDir string, user *account) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	if blocked := user.blockedBy(root); blocked != "" {
		return "", fmt.Errorf("it cannot pass through %s either", blocked)
	}
	return os.MkdirTemp(root, filepath.Base(dataDir)+"-*")
}

// create runs initdb where there is no cluster yet. It works beside the final
// place and renames, so that a start that was interrupted leaves nothing half. It
// inherits the lock: after a kill the next start waits until it is gone.
func (c cluster) create(ctx context.Context, bin binaries, lock *os.File) error {
	if _, err := os.Stat(filepath.Join(c.data(), "PG_VERSION")); err == nil {
		return c.recordPlace()
	}
	fresh := c.fresh()
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clearing an unfinished database: %w", err)
	}
	var out []byte
	var err error
	// C.UTF-8 sorts by code point and knows the letters of all languages; where
	// the system has no such locale, only letters of ASCII change case.
	for _, locale := range []string{"C.UTF-8", "C"} {
		cmd := c.user.command(ctx, bin.initdb(), "--pgdata="+fresh, "--username="+embeddedName,
			"--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--locale="+locale, "--data-checksums")
		cmd.Dir, cmd.ExtraFiles = c.dir, []*os.File{lock}
		if out, err = cmd.CombinedOutput(); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("making the database with %s: %w: %s", bin.initdb(), err, lastLines(string(out), 3))
	}
	if err := os.Rename(fresh, c.data()); err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	return c.recordPlace()
}

// recordPlace writes down where the cluster is, if it is not where one would look.
func (c cluster) recordPlace() error {
	dataDir := filepath.Dir(c.log)
	if c.dir == filepath.Join(dataDir, "postgres") {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dataDir, "postgres.location"), []byte(c.dir+"\n"), 0o600); err != nil {
		return fmt.Errorf("recording where the database is: %w", err)
	}
	return nil
}

// socketDir makes and returns the directory of the socket: run in the cluster's
// place, or a short one where that path is too long for a socket.
func (c cluster) socketDir() (string, error) {
	dir := filepath.Join(c.dir, "run")
	if len(filepath.Join(dir, ".s.PGSQL."+embeddedPort)) > socketPathLimit {
		sum := sha256.Sum256([]byte(c.dir))
		dir = "/tmp/fleetboard-" + hex.EncodeToString(sum[:8])
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return dir, c.user.own(dir)
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making the socket's directory: %w", err)
	}
	// Under /tmp somebody else may have put it there first.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("looking at the socket's directory: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || owner.Uid != c.user.uid {
		return "", fmt.Errorf("%s must be a directory of the user %s with mode 0700; remove it and start again", dir, c.user.name)
	}
	return dir, nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
