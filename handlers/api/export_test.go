package api

import "time"

// StreamsPerWorkspace is the limit in tests.
const StreamsPerWorkspace = 5

// Streams of the tests live faster.
func init() {
	streaming.perWorkspace = StreamsPerWorkspace
	streaming.beat, streaming.check, streaming.poll = 300*time.Millisecond, 100*time.Millisecond, time.Second
	streaming.write = 2 * time.Second
}
