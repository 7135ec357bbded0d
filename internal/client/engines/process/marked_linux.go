package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// KillMarked kills all processes of this user that have a variable, as "NAME=value", in
// the environment that they were started with: also those that have left their group.
func KillMarked(variable string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is good
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environment, err := os.ReadFile(file)
		if err != nil {
			continue // it is another user's, or has ended
		}
		for v := range bytes.SplitSeq(environment, []byte{0}) {
			if string(v) == variable {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
}
