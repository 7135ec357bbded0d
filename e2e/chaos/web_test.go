package chaos

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
)

// web is one of the server's copies. It keeps its address over restarts.
type web struct {
	t       *testing.T
	name    string
	address string
	program string
	env     []string
	log     string
	prepare func(*exec.Cmd) // changes how it is started, nil for nothing

	victim sync.Mutex // held by whoever does something to it
	proc   *processtest.Child
}

// newWebs prepares n copies on one database. They share the data directory, for
// the secret key and the tokens.
func newWebs(t *testing.T, n int, databaseURL, dir string) []*web {
	t.Helper()
	list := make([]*web, n)
	for i := range list {
		w := &web{t: t, name: fmt.Sprint("web-", i+1), address: freeAddress(t), program: serverBinary}
		w.log = filepath.Join(dir, w.name+".log")
		w.env = []string{"FLEETBOARD_RATE_LIMIT=0", "DATABASE_URL=" + databaseURL, "FLEETBOARD_DATA_DIR=" + filepath.Join(dir, "data"),
			"FLEETBOARD_LISTEN=" + w.address, "FLEETBOARD_ADMIN_EMAIL=mara@kestrel.example",
			"FLEETBOARD_ADMIN_PASSWORD=quiet watch room 12", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		w.env = append(w.env, transporttest.Environ()...)
		list[i] = w
	}
	return list
}

// freeAddress finds a port that no outgoing connection is given while its server
// is down.
func freeAddress(t *testing.T) string {
	t.Helper()
	for port := 21000 + os.Getpid()%5000; port < 32000; port++ {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		_ = l.Close()
		if address := l.Addr().String(); !taken(address) {
			return address
		}
	}
	t.Fatal("there is no free port")
	return ""
}

var (
	takenMu    sync.Mutex
	takenPorts = map[string]bool{}
)

// taken reports whether an address was given away before, and takes it.
func taken(address string) bool {
	takenMu.Lock()
	defer takenMu.Unlock()
	was := takenPorts[address]
	takenPorts[address] = true
	return was
}

func (w *web) url() string { return "http://" + w.address + "/api/v1" }

// launch starts the server and waits until it is ready. A start that fails,
// because the database is away, is tried again for two minutes.
func (w *web) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if w.proc == nil || w.proc.Gone() {
			cmd := exec.Command(w.program) //nolint:noctx // ended by the monkey or the clean-up
			cmd.Env = w.env
			if w.prepare != nil {
				w.prepare(cmd)
			}
			var err error
			if w.proc, err = processtest.StartChild(w.t, w.name, cmd, w.log, syscall.SIGKILL); err != nil {
				return err
			}
		}
		if processtest.IsReady(ctx, w.address) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready, see %s: %w", w.name, w.log, ctx.Err())
		case <-tick.C:
		}
	}
}

// token reads one of the tokens that the first start wrote.
func token(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
