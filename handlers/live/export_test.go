package live

import "time"

// SetWriteTime sets how long a reader may take for one message, for all tests of
// the process.
func SetWriteTime(d time.Duration) { writeTime = d }
