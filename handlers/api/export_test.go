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
	streams.PerWorkspace, streams.PerToken = StreamsPerWorkspace, StreamsPerToken
	streams.Beat, streams.Check, streams.Write = 300*time.Millisecond, 100*time.Millisecond, 2*time.Second
	streamPoll = time.Second
	transferring.piece = TransferPiece
}
