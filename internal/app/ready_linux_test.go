package app

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// openDir returns a directory that the embedded server's user may pass through.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill writes a file until the disk is full, or has left bytes.
func fill(t *testing.T, disk string, left int64) {
	t.Helper()
	file, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	block := make([]byte, 4096)
	for err == nil {
		_, err = file.Write(block)
	}
	info, _ := file.Stat()
	if err := file.Truncate(max(0, info.Size()-left)); err != nil {
		t.Fatal(err)
	}
}

// until sends requests until the answer has a status; each answer counts for a second.
func (a *App) until(t *testing.T, status int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		got, _ := send(t, a.listener.Addr(), "GET /readyz", "localhost")
		if got.StatusCode == status {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("/readyz is %d and does not become %d", got.StatusCode, status)
		}
	}
}

// A server whose database has no space left is not ready, whoever runs that
// database, and is again when there is space.
func TestAFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	disk := openDir(t)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256m,mode=0711"); err != nil {
		t.Fatalf("this test fills a disk of its own and needs to be root for it: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	embedded := started(t, map[string]string{"FLEETBOARD_DATA_DIR": filepath.Join(disk, "data"), "DATABASE_URL": ""})
	elsewhere := started(t, map[string]string{"DATABASE_URL": embedded.embedded.URL()})
	embedded.until(t, http.StatusOK)
	elsewhere.until(t, http.StatusOK)
	fill(t, disk, 0)
	embedded.until(t, http.StatusServiceUnavailable)
	elsewhere.until(t, http.StatusServiceUnavailable)
	fill(t, disk, 24<<20) // which is enough for now
	elsewhere.until(t, http.StatusOK)
	embedded.until(t, http.StatusServiceUnavailable)
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	embedded.until(t, http.StatusOK)
	elsewhere.until(t, http.StatusOK)
}

// freeze stops PostgreSQL in dir with all its processes, and gives what lets it go on.
func freeze(t *testing.T, dir string) (thaw func()) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pids := []string{first}
	signal := func(s syscall.Signal) {
		for _, text := range pids {
			if pid, err := strconv.Atoi(text); err == nil {
				_ = syscall.Kill(pid, s)
			}
		}
	}
	signal(syscall.SIGSTOP)
	for stopped := false; !stopped; { // no new ones from then on
		stat, err := os.ReadFile("/proc/" + first + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		stopped = strings.Contains(string(stat), ") T ")
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%[1]s/children", first))
	if err != nil {
		t.Fatal(err)
	}
	pids = append(pids, strings.Fields(string(children))...)
	signal(syscall.SIGSTOP)
	return sync.OnceFunc(func() { signal(syscall.SIGCONT) })
}

// While the database stands still, monitors learn it at once, however many poll,
// and afterwards nobody waits behind them.
func TestMonitorsAreAnsweredWhileTheDatabaseStandsStill(t *testing.T) {
	t.Parallel()
	a := started(t, map[string]string{"FLEETBOARD_DATA_DIR": filepath.Join(openDir(t), "data"), "DATABASE_URL": ""})
	a.until(t, http.StatusOK)
	thaw := freeze(t, a.clusterDir)
	t.Cleanup(thaw)
	since := time.Now()
	a.until(t, http.StatusServiceUnavailable)
	t.Logf("not ready after %.1f s", time.Since(since).Seconds())
	var all sync.WaitGroup
	for n := range 10 {
		for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable,
			"/health/coordinator": http.StatusServiceUnavailable, "/metrics": http.StatusOK} {
			if path == "/metrics" && n > 0 {
				continue // few scrapes at once are answered
			}
			all.Go(func() {
				began := time.Now()
				got, _ := send(t, a.listener.Addr(), "GET "+path, "localhost")
				// This machine may be busy, while a database that stands still answers never.
				if took := time.Since(began); got.StatusCode != want || took > 30*time.Second {
					t.Errorf("%s: %d after %v", path, got.StatusCode, took)
				}
			})
		}
	}
	all.Wait()
	t.Logf("answered until %.1f s", time.Since(since).Seconds())
	thaw()
	a.until(t, http.StatusOK)
	if got, body := send(t, a.listener.Addr(), "GET /api/v1/jobs", "localhost"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("afterwards: %d %s", got.StatusCode, body)
	}
	if got, _ := send(t, a.listener.Addr(), "GET /login", "localhost"); got.StatusCode != http.StatusOK {
		t.Errorf("the log in afterwards: %d", got.StatusCode)
	}
}
