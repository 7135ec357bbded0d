package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// worker is an agent as seen from outside: its process, started again and again.
type worker struct {
	t *testing.T
	orders
	log string

	victim sync.Mutex // held by whoever does something to it
	proc   *processtest.Child
}

// longestSilence is the longest lease of those that are not taken for dead first.
const longestSilence = 15 * time.Second

// newWorkers prepares n agents. Half of them have short leases; the other half
// has long ones and is soon taken for dead, so that both ways back are walked.
func newWorkers(t *testing.T, n int, servers []string, enrolment, dir string) []*worker {
	t.Helper()
	list := make([]*worker, n)
	for i := range list {
		name := fmt.Sprintf("agent-%02d", i+1)
		o := orders{Name: name, Servers: servers, Enrolment: enrolment, TTL: 10 + i/2, Workers: 2,
			Journal: filepath.Join(dir, name+".journal")}
		if i%2 == 1 {
			o.TTL, o.StaleAfter = 60, 3
		}
		list[i] = &worker{t: t, orders: o, log: filepath.Join(dir, name+".log")}
	}
	return list
}

// silence returns how long the agent has to be silent before its jobs are anybody's.
func (w *worker) silence() time.Duration {
	if w.StaleAfter > 0 {
		return time.Duration(3*w.StaleAfter) * time.Second
	}
	return time.Duration(w.TTL) * time.Second
}

// launch starts a new boot.
func (w *worker) launch() error {
	text, err := json.Marshal(w.orders)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program) //nolint:noctx // ended by the monkey or the clean-up
	cmd.Env = append(os.Environ(), agentVariable+"="+string(text))
	w.proc, err = processtest.StartChild(w.t, w.Name, cmd, w.log, syscall.SIGKILL)
	return err
}
