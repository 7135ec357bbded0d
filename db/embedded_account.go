package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the operating system's user that the server runs as.
type account struct {
	name     string
	uid, gid uint32
	switches bool // from root to another user
}

// serverAccount returns the current user, or, for root, postgres or nobody:
// PostgreSQL refuses to run as root.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return &account{name: "running fleetboard", uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())},
			nil // #nosec G115 -- ids have 32 bits
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			return &account{name: name, uid: uint32(uid), gid: uint32(gid), switches: true}, nil
		}
	}
	return nil,
		errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody " +
			"to run it; run fleetboard as another user")
}

// command prepares a program that runs as the account, in its own process
// group, so that Ctrl-C in the terminal reaches us first.
func (a *account) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.switches {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return cmd
}

// own gives a directory to the account, for it alone.
func (a *account) own(path string) error {
	if err := a.give(path); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("closing %s to others: %w", path, err)
	}
	return nil
}

// give makes the account the owner of path.
func (a *account) give(path string) error {
	if !a.switches {
		return nil
	}
	if err := os.Lchown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("giving %s to the user %s: %w", path, a.name, err)
	}
	return nil
}

// blockedBy returns the first directory on the way to path that the account
// may not pass through, or "".
func (a *account) blockedBy(path string) string {
	if !a.switches {
		return ""
	}
	blocked := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if !a.passes(dir) {
			blocked = dir
		}
		if dir == filepath.Dir(dir) {
			return blocked
		}
	}
}

func (a *account) passes(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	mode := info.Mode().Perm()
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		switch {
		case owner.Uid == a.uid:
			return mode&0o100 != 0
		case owner.Gid == a.gid:
			return mode&0o010 != 0
		}
	}
	return mode&0o001 != 0
}

// makeDirs makes dir and what is missing above it. As root they are opened for
// passing through, so that the server's user reaches the cluster inside; what
// was there before is left as it is.
func makeDirs(dir string, a *account) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the data directory: %w", err)
		}
		missing = append(missing, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	if !a.switches {
		return nil
	}
	for _, d := range missing {
		if err := os.Chmod(d, 0o711); err != nil {
			return fmt.Errorf("opening the data directory for passing through: %w", err)
		}
	}
	return nil
}
