//go:build !linux

package process

// KillMarked does nothing here: the system does not show the environment of processes.
// Engines run in process groups that end with them.
func KillMarked(string) {}
