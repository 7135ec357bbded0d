package worker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// stateLock keeps a second worker out of the state directory.
type stateLock struct{ file *flock.Flock }

// lockState makes the state directory and takes it. The error says who has it.
func lockState(dir string) (*stateLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &stateLock{file: flock.New(filepath.Join(dir, "lock"))}
	taken, err := l.file.TryLock()
	if err != nil {
		return nil, err
	}
	if !taken {
		return nil, fmt.Errorf("another worker uses %s: end it, or give this one a --name of its own", dir)
	}
	return l, nil
}

func (l *stateLock) unlock() { _ = l.file.Unlock() } // the process ends anyway

// bootFile holds the boot id from the first registration until the worker has ended as it
// should. One that was killed goes on under it, so that its leases stay its own.
func bootFile(dir string) string { return filepath.Join(dir, "boot") }

// bootID returns the one that a worker that was killed left, or a new one.
func bootID(dir string) (string, error) {
	text, err := os.ReadFile(bootFile(dir))
	if id := strings.TrimSpace(string(text)); err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := random()
	return id, os.WriteFile(bootFile(dir), []byte(id+"\n"), 0o600)
}

// forgetBoot is called when nothing is left to go on with.
func forgetBoot(dir string) error {
	if err := os.Remove(bootFile(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// random is 128 random bits, in hexadecimal digits.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
