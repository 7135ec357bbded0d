package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guardScript reads the number of a process group, waits until nobody holds the other end of
// its input any more, and ends the group and, on Linux, all that have the mark.
const guardScript = `trap '' HUP INT TERM; read -r group || exit 0; read -r more; kill -s KILL -- "-$group"
[ -n "$1" ] || exit 0
for file in /proc/[0-9]*/environ; do
	if grep -zqxF -e "$1" "$file" 2>/dev/null; then file=${file%/environ}; kill -s KILL "${file#/proc/}"; fi
done 2>/dev/null`

// guard ends a process group when this process dies, however it does.
type guard struct {
	cmd  *exec.Cmd
	hold *os.File // as long as it is open in this process, the group lives
}

// newGuard starts one that has no group yet.
func newGuard(mark string) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g := &guard{cmd: exec.Command("/bin/sh", "-c", guardScript, "guard", mark), hold: w} //nolint:noctx // release ends it
	g.cmd.Stdin, g.cmd.Env, g.cmd.SysProcAttr = r, []string{"PATH=" + os.Getenv("PATH")}, &syscall.SysProcAttr{Setsid: true}
	err = g.cmd.Start()
	_ = r.Close() // the guard has it
	if err != nil {
		_ = w.Close() // nobody reads it
		return nil, err
	}
	return g, nil
}

// watch names the group.
func (g *guard) watch(group int) {
	_, _ = fmt.Fprintln(g.hold, group) // a guard that has ended guards nothing
}

// release ends the guard and leaves the group alone.
func (g *guard) release() {
	_ = g.cmd.Process.Kill() // it may have ended
	_ = g.cmd.Wait()
	_ = g.hold.Close()
}
