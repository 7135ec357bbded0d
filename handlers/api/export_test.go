package api

import "time"

// StreamsPerWorkspace and StreamsPerToken are the limits in tests.
const (
	StreamsPerWorkspace = 8
	StreamsPerToken     = 3
	TransferPiece       = 2 * time.Second
	TransfersPerToken   = transferTokenBudget / transferMemory
)

// Streams of the tests live faster.
func init() {
	streaming.perWorkspace, streaming.perToken = StreamsPerWorkspace, StreamsPerToken
	streaming.beat, streaming.check, streaming.poll = 300*time.Millisecond, 100*time.Millisecond, time.Second
	streaming.write = 2 * time.Second
	transferring.piece = TransferPiece
}
