package repos

import "syscall"

// dieWithParent has a program end when this process is killed: the next one finds nobody who
// still writes. Threads of this process live as long as it does, so none takes git with it.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
