//go:build !linux

package repos

import "syscall"

// dieWithParent does nothing here: the system cannot.
func dieWithParent(*syscall.SysProcAttr) {}
