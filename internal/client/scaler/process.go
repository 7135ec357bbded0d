package scaler

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// identify is a shell's words for itself: its process id and when it was started, which tells it
// from a later process with the same id.
const identify = `$$ $(cut -d' ' -f22 /proc/$$/stat 2>/dev/null || ps -o lstart= -p $$)`

// script writes the process id of the shell and becomes the command. Where the worker's directory
// was taken away meanwhile, it ends.
const script = `cd "$FLEETBOARD_SCALER_DIR" && echo "` + identify + `" >pid.new && mv pid.new pid && cd "$OLDPWD" || exit 127
unset FLEETBOARD_SCALER_DIR
exec `

// launch starts a command in a session of its own, whose output goes to a file in dir.
func launch(dir, command string, environ []string) (*exec.Cmd, error) {
	out, err := os.OpenFile(filepath.Join(dir, "output.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command("/bin/sh", "-c", script+command) //nolint:noctx // it outlives this process
	cmd.Env = append(environ, "FLEETBOARD_SCALER_DIR="+dir)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// process is a worker's process as it wrote it down.
type process struct {
	id      int
	started string
}

// readProcess reads the process that a worker wrote down; false where it has not yet.
func readProcess(dir string) (process, bool) {
	raw, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return process{}, false
	}
	id, started, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	n, err := strconv.Atoi(id)
	return process{n, strings.TrimSpace(started)}, err == nil && n > 1
}

// alive reports whether the process runs: one with its id that was started when it was.
func (p process) alive() bool {
	if err := syscall.Kill(p.id, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.id))
	if err == nil {
		// The name of the program, in brackets, may contain anything.
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		return len(fields) > 19 && fields[0] != "Z" && fields[19] == p.started
	}
	said, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(p.id)).Output() //nolint:noctx // it ends at once
	return err == nil && strings.TrimSpace(string(said)) == p.started
}

// signal sends a signal to the process; with all, to whatever it has started in its session too.
func (p process) signal(s syscall.Signal, all bool) {
	if !p.alive() {
		return
	}
	to := p.id
	if all {
		to = -p.id
	}
	_ = syscall.Kill(to, s) // it may have ended meanwhile
}
