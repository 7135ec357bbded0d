package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// denied is a bucket that lets nobody in, or is not there.
func denied(t *testing.T, status int, code string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>no</Message></Error>", code)
	}))
	t.Cleanup(s.Close)
	return "s3://bucket/fleet?region=eu-1&endpoint=" + s.URL
}

// mount makes a disk of its own.
func (m *machine) mount(name, options string, flags uintptr) string {
	m.t.Helper()
	path := m.mkdir(name)
	if err := syscall.Mount("tmpfs", path, "tmpfs", flags, options); err != nil {
		m.t.Fatalf("this test has disks of its own and needs to be root for it: %v", err)
	}
	m.t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	return path
}

// files lists what is in a directory, without the locks.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != ".lock" {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What cannot be done is said in a sentence, with 2 where nothing was begun and 1 where something is wrong
// or failed; and nothing is left behind.
func TestWhatBackupsRefuse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve(nil)
	s.create("one")
	good, elsewhere := m.mkdir("good"), m.mkdir("elsewhere")
	m.run(nil, "backup", good).wants(t, 0, "The backup", "was made", "events up to", "secret key is not in it")
	m.run(nil, "backup", m.path("good.tar")).wants(t, 0, "was made")
	full, closed := m.mount("full", "size=44m", 0), m.mount("closed", "", syscall.MS_RDONLY)
	if err := os.Symlink(elsewhere, m.path("link")); err != nil {
		t.Fatal(err)
	}
	busy := m.mkdir("busy")
	lock, err := os.Create(filepath.Join(busy, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
	for _, c := range []struct {
		name   string
		env    map[string]string
		target string
		code   int
		says   string
	}{
		{"no target", nil, "", 2, "name a directory"},
		{"a directory that is not there", nil, m.path("none"), 2, "there is no directory " + m.path("none")},
		{"a tar in a directory that is not there", nil, m.path("none/x.tar"), 2, "there is no directory " + m.path("none")},
		{"a file", nil, write(t, m.path("file"), "x"), 2, "is a file: name a directory"},
		{"a tar that is there", nil, m.path("good.tar"), 2, "is there already"},
		{"a symbolic link", nil, m.path("link"), 2, "is a symbolic link"},
		{"the data directory", nil, s.dataDir, 2, "lies in the server's data directory"},
		{"within the cluster", nil, filepath.Join(s.dataDir, "postgres", "x.tar"), 2, "lies in the server's data directory"},
		{"a disk that is read-only", nil, closed, 2, "cannot be written to"},
		{"a disk that becomes full", nil, full, 1, "is full"},
		{"a tar on a disk that becomes full", nil, filepath.Join(full, "x.tar"), 1, "is full"},
		{"another backup at work", nil, busy, 2, "another backup is written to"},
		{"an address that is none", nil, "s3://", 2, "must be an address"},
		{"a bucket that refuses", keys, denied(t, http.StatusForbidden, "AccessDenied"), 1, "does not let these credentials"},
		{"a bucket that is not there", keys, denied(t, http.StatusNotFound, "NoSuchBucket"), 1, "there is no bucket"},
		{"no database", map[string]string{"FLEETBOARD_DATA_DIR": m.path("no-data")}, elsewhere, 2, "there is no database"},
		{"a database that is away", map[string]string{"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}, elsewhere, 2, "does not answer"},
		{"a short passphrase", map[string]string{"FLEETBOARD_BACKUP_PASSPHRASE_FILE": write(t, m.path("short"), "x")}, elsewhere, 2,
			"must have at least 12 characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"backup"}
			if c.target != "" {
				args = append(args, c.target)
			}
			m.run(c.env, args...).wants(t, c.code, c.says)
		})
	}
	for _, dir := range []string{elsewhere, full, busy} {
		if left := files(t, dir); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	// One that is stopped is none.
	m.runUntil("copy", nil, "backup", elsewhere).wants(t, 1, "no backup was made")
	m.run(map[string]string{"FLEETBOARD_DATA_DIR": m.path("to")}, "restore", elsewhere).wants(t, 2, "there is no backup")
	m.run(nil, "restore", good).wants(t, 2, "has a database already")
	m.run(nil, "doctor", good).wants(t, 0, "the newest of 1 ended", "it is not in the backup", "only the moments")
	m.run(nil, "doctor", elsewhere).wants(t, 1, "BAD  backup", "there is none")
	m.run(nil, "doctor").wants(t, 1, "none is configured")
}

// A backup that was changed, is incomplete, or does not fit is refused, and the directory stays empty.
func TestWhatRestoresRefuse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	passphrase := write(t, m.path("passphrase"), "correct horse battery\n")
	s := m.serve(nil)
	s.create("one")
	good, tar := m.mkdir("good"), m.path("good.tar")
	m.run(map[string]string{"FLEETBOARD_BACKUP_PASSPHRASE_FILE": passphrase}, "backup", good).wants(t, 0, "secret key is in it, under your passphrase")
	m.run(nil, "backup", tar).wants(t, 0)
	s.close()
	to := m.path("to")
	env := func(changes ...string) map[string]string {
		e := map[string]string{"FLEETBOARD_DATA_DIR": to}
		for i := 0; i < len(changes); i += 2 {
			e[changes[i]] = changes[i+1]
		}
		return e
	}
	whole, err := os.ReadFile(tar)
	if err != nil {
		t.Fatal(err)
	}
	empty, used := m.mkdir("empty"), m.mkdir("used")
	write(t, filepath.Join(used, "letters"), "dear")
	claimed := m.mkdir("claimed")
	mark, err := os.Create(filepath.Join(claimed, "restore-unfinished.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer mark.Close()
	if err := syscall.Flock(int(mark.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	small := m.mount("small", "size=60m,mode=0711", 0)
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		code int
		says string
	}{
		{"no source", env(), nil, 2, "name a directory"},
		{"a source that is not there", env(), []string{m.path("none")}, 2, "there is no backup at"},
		{"a directory without one", env(), []string{empty}, 2, "there is no backup"},
		{"a file that is none", env(), []string{write(t, m.path("letter.tar"), "dear")}, 1, "is no backup, or was cut off"},
		{"a tar that was cut off", env(), []string{write(t, m.path("cut.tar"), string(whole[:len(whole)/2]))}, 1, "was cut off"},
		{"another server's key", env("FLEETBOARD_SECRET_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg="), []string{good}, 2,
			"the secret key is not the one of the server"},
		{"no key, sealed in the backup", env("FLEETBOARD_SECRET_KEY", ""), []string{good}, 2, "name the file with the passphrase"},
		{"no key", env("FLEETBOARD_SECRET_KEY", ""), []string{tar}, 2, "--without-key"},
		{"another passphrase", env("FLEETBOARD_SECRET_KEY", "", "FLEETBOARD_BACKUP_PASSPHRASE_FILE", write(t, m.path("other"), "incorrect horse")),
			[]string{good}, 2, "the passphrase is not the one"},
		{"a time without a zone", env(), []string{good, "--at", "2026-03-01T12:00:00"}, 2, "must be a time with its zone"},
		{"a time to come", env(), []string{good, "--at", later}, 2, "is in the future"},
		{"a time before", env(), []string{good, "--at", "2020-01-01T00:00:00Z"}, 2, "the oldest backup was finished at"},
		{"another restore at work", env("FLEETBOARD_DATA_DIR", claimed), []string{good}, 2, "another restore writes to"},
		{"a disk that is too small", env("FLEETBOARD_DATA_DIR", filepath.Join(small, "data")), []string{good}, 2, "the backup needs"},
		{"a directory with something else", env("FLEETBOARD_DATA_DIR", used), []string{good}, 2, "is not empty (it has letters)"},
		{"a cluster for another database server", env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none"), []string{good}, 2, "unset DATABASE_URL"},
		{"a bucket that refuses", env("AWS_ACCESS_KEY_ID", "key", "AWS_SECRET_ACCESS_KEY", "secret"),
			[]string{denied(t, http.StatusForbidden, "AccessDenied")}, 2, "does not let these credentials"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.run(c.env, append([]string{"restore"}, c.args...)...).wants(t, c.code, c.says)
			if _, err := os.Stat(to); err == nil {
				t.Errorf("the directory was made: %q", files(t, to))
			}
		})
	}
	if left := files(t, small); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	m.changedParts(good, env())
	m.stoppedRestore(good, passphrase)
}

// changedParts changes a byte of each file of a backup.
func (m *machine) changedParts(good string, to map[string]string) {
	for _, path := range files(m.t, good) {
		name := filepath.Base(path)
		was, err := os.ReadFile(path)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, at := range []int{0, len(was) / 2, len(was) - 1} {
			now := slices.Clone(was)
			now[at] ^= 1
			write(m.t, path, string(now))
			m.run(to, "restore", good).wants(m.t, 1, name+" is not what the backup wrote")
		}
		if err := os.Remove(path); err != nil {
			m.t.Fatal(err)
		}
		if name == "manifest.json" {
			m.run(to, "restore", good).wants(m.t, 2, "there is no backup")
		} else {
			m.run(to, "restore", good).wants(m.t, 1, name+" of the backup", "is missing")
		}
		write(m.t, path, string(was))
	}
}

// stoppedRestore stops a restore at each of its steps: nothing of it is served, and it can be begun again,
// at last without the secret key at hand.
func (m *machine) stoppedRestore(good, passphrase string) {
	to := map[string]string{"FLEETBOARD_DATA_DIR": m.path("stopped")}
	for _, word := range []string{"check", "write", "replay", "audit"} {
		m.runUntil(word, to, "restore", good).wants(m.t, 1, "nothing was restored")
		if word == "check" {
			continue // nothing was begun
		}
		for command, code := range map[string]int{"serve": 1, "audit": 2, "backup": 2} {
			m.run(to, command).wants(m.t, code, "was not finished: run fleetboard restore again")
		}
	}
	to["FLEETBOARD_SECRET_KEY"], to["FLEETBOARD_BACKUP_PASSPHRASE_FILE"] = "", passphrase
	m.run(to, "restore", good).wants(m.t, 0, "Restored the backup", "     0  log")
	to["FLEETBOARD_BACKUP_PASSPHRASE_FILE"] = ""
	restored := m.serve(to)
	if got := restored.titles(); got != "one" {
		m.t.Errorf("restored are %q", got)
	}
	text, err := os.ReadFile(filepath.Join(restored.dataDir, "secret-key"))
	if err != nil || strings.TrimSpace(string(text)) != m.env["FLEETBOARD_SECRET_KEY"] {
		m.t.Errorf("the secret key is %q, %v", text, err)
	}
}
