package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// cheapBody is up to how many bytes the body of a cheap call may have.
const cheapBody = 64 << 10

// cheapCalls are those that take no turn, because what they do is bounded and small, or
// because they wait: what agents do all the time, and what reads or changes one row. All
// others are expensive with their worst input, and so is every call with a large body.
var cheapCalls = []string{
	"claimJobs", "startJob", "reportProgress", "renewLease", "completeJob", "failJob", "releaseLease", "writeLogs", "writeSteps", "reportUsage",
	"reportDelivery", "followPullRequest", "endAgent", "checkBudget", "askQuestion", "reportBatch", "getQueueState", "heartbeat",
	"registerAgent", "createJob", "getJob", "patchJob",
	"blockJob", "unblockJob", "pauseJob", "resumeJob", "cancelJob", "finishJob", "retryJob", "approveJob", "rejectJob", "mergeJob",
	"archiveJob", "releaseJob", "answerJob", "failMerge", "linkJob", "unlinkJob", "rankJob", "getProduct",
	"getAgent", "getAgentHealth", "getFactory",
	"drainFactory", "undrainFactory", "terminateAgent", "getCoordinatorStatus", "readMessages", "ackMessages", "nackMessage",
	"sendMessage", "sendMessages", "getMessage", "redriveDeadLetter", "discardDeadLetter", "streamEvents", "streamSteps", "createExport",
	"deleteExport", "resetExport", "ackExport", "getVersion", "getDescription", "putBlob", "getBlob", "headBlob",
}

// waiting are cheap calls that wait or go on for long: they have seats of their own. A
// heartbeat waits for nothing.
var waiting = []string{"claimJobs", "heartbeat", "readMessages", "streamEvents", "streamSteps"}

// turn returns the turn that a call with a body of so many bytes has to wait for. Blobs and streams take one for each piece.
func (s *Server) turn(ctx context.Context, op operation, who *tenancy.Principal, body int) (*quota.Turn, error) {
	switch {
	case body > cheapBody || !op.cheap:
		return s.Turns.Take(ctx, *who)
	case op.waits || op.need == tenancy.Public:
		return nil, nil
	}
	return s.Turns.TakeCheap(ctx, *who)
}
