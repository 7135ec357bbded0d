package api

import (
	"context"
	"time"
)

// StreamsPerWorkspace and StreamsPerAsker are the limits in tests.
const (
	StreamsPerWorkspace = 8
	StreamsPerAsker     = 3
	TransferPiece       = 2 * time.Second
	TransfersPerAsker   = transferAskerBudget / transferMemory
)

// CheapCalls are the calls that take no turn.
var CheapCalls = cheapCalls

// Streams of the tests live faster.
func init() {
	streams.PerWorkspace, streams.PerAsker = StreamsPerWorkspace, StreamsPerAsker
	streams.Beat, streams.Check, streams.Write = 300*time.Millisecond, 100*time.Millisecond, 2*time.Second
	streamPoll = time.Second
	transferring.piece = TransferPiece
	pauseRefusal = func(context.Context) {}
}

// PauseRefusals sets what refusals wait for, until restore.
func PauseRefusals(pause func(context.Context)) (restore func()) {
	before := pauseRefusal
	pauseRefusal = pause
	return func() { pauseRefusal = before }
}
