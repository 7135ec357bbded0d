package newcomer

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

func TestTheQuickStartLeadsToAMergedJobAndBack(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	// The fleet command is where the page puts it.
	if err := os.Mkdir(filepath.Join(r.dir, "server"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(serverBinary, filepath.Join(r.dir, "server", "fleetboard")); err != nil {
		t.Fatal(err)
	}
	r.path = filepath.Join(r.home(), ".local/bin") + ":" + filepath.Join(r.dir, "server")
	page := fences(t, "quick-start.md")
	back := slices.IndexFunc(page, func(f fence) bool { return strings.HasPrefix(f.text, "rm -rf ") })
	if back < 0 {
		t.Fatal("the page does not lead back")
	}
	r.follow(page[:back])
	r.end()
	r.follow(page[back : back+1])
	for _, gone := range []string{".local/share/fleetboard", ".local/state/fleet", ".config/fleet", ".local/bin/fleet",
		"src/hello", "hello.git"} {
		if _, err := os.Lstat(filepath.Join(r.home(), gone)); !os.IsNotExist(err) {
			t.Errorf("%s stays: %v", gone, err)
		}
	}
	key := filepath.Join(r.dir, "secret-key")
	if err := os.WriteFile(key, []byte("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.stands = map[string]string{"postgres://fleetboard@db.internal/fleetboard": "'" + dbtest.URL(t) + "'",
		"/etc/fleetboard/secret-key": key}
	r.follow(page[back+1:])
	if r.printed["sh"] < 8 || r.printed["sh background"] != 3 {
		t.Errorf("followed %v", r.printed)
	}
}

func TestTheCommandsOfOperatingRun(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	backup := filepath.Join(r.dir, "backup")
	for _, dir := range []string{backup, filepath.Join(r.dir, "by-hand")} { // disks that are mounted
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	prepare := r.prepare
	r.prepare = func(shell *exec.Cmd, block string) {
		prepare(shell, block)
		shell.Env = append(shell.Env, "FLEETBOARD_BACKUP_URL="+backup)
		if strings.Contains(block, "fleetboard restore") {
			shell.Env = append(shell.Env, "FLEETBOARD_LISTEN="+processtest.FreeAddress(t, firstPort))
		}
	}
	r.serve()
	// What the book takes for granted: products, a repository, a job that waits for a pool, and a backup.
	r.paste("fleet product set payments --quiet; fleet product set billing --quiet\n" +
		"fleet product set hello --add-repo hello --quiet\n" +
		"fleet job create 'For the pool' --repo hello --needs engine:claude --quiet")
	until(t, "a second can be restored", func() bool {
		out, _ := r.shell("fleetboard doctor").CombinedOutput() // not all is well before there is a backup
		second := regexp.MustCompile(`any second from (\S+) to (\S+) can be restored`).FindStringSubmatch(string(out))
		if second == nil || second[1] == second[2] {
			return false
		}
		r.stands["2026-03-01T12:00:00Z"] = second[2]
		return true
	})
	data := filepath.Join(r.home(), ".local/share/fleetboard")
	token, err := os.ReadFile(filepath.Join(data, "owner-token"))
	if err != nil {
		t.Fatal(err)
	}
	for example, real := range map[string]string{"/backup/fleetboard": backup, "/backup/by-hand": filepath.Join(r.dir, "by-hand"),
		"/var/lib/fleetboard": filepath.Join(r.dir, "restored"), "/etc/fleetboard/secret-key": filepath.Join(data, "secret-key"),
		"FLEETBOARD_TOKEN=…": "FLEETBOARD_TOKEN=" + strings.TrimSpace(string(token)), "/srv/src": r.home()} {
		r.stands[example] = real
	}
	r.follow(fences(t, "operating.md"))
	if r.printed["sh"] < 7 || r.printed["sh background"] != 2 {
		t.Errorf("followed %v", r.printed)
	}
}

func TestTheCommandsOfSecurityRun(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.serve()
	r.paste("fleet product set hello --add-repo hello --quiet")
	r.follow(fences(t, "security.md"))
	if key, err := os.Stat(filepath.Join(r.dir, "new-secret-key")); err != nil || key.Mode().Perm() != 0o600 {
		t.Errorf("the new key: %v, %v", key, err)
	}
	if r.printed["sh"] != 6 {
		t.Errorf("followed %v", r.printed)
	}
}
