package processtest

import "syscall"

// leaveWill has the kernel end a process when we are gone, however we went.
func leaveWill(a *syscall.SysProcAttr, will syscall.Signal) { a.Pdeathsig = will }
