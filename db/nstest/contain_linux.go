package nstest

import (
	"os"
	"os/exec"
	"syscall"
)

const capSysAdmin = 21

// Needs says what a test needs whose contained command does not start.
const Needs = "this test needs namespaces of its own: run it as root, in a container with CAP_SYS_ADMIN, or where users may make namespaces"

// Contain makes a command the first process of PID and IPC namespaces of its own.
// It sees its own processes only and, if there are binds, each second directory
// in the place of the first. It has the machine's network. To kill it is to kill
// all processes that it started.
func Contain(cmd *exec.Cmd, binds ...[2]string) {
	script, args := "mount -t proc proc /proc", []string{}
	for _, b := range binds {
		script += ` && mount --bind "$1" "$2" && shift 2`
		args = append(args, b[1], b[0])
	}
	cmd.Args = append([]string{"/bin/sh", "-c", script + ` && exec "$0" "$@"`, cmd.Path}, append(args, cmd.Args[1:]...)...)
	cmd.Path = "/bin/sh"
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC, Unshareflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.AmbientCaps = []uintptr{capSysAdmin}
	}
	cmd.SysProcAttr = a
}
