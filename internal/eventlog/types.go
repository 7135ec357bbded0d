package eventlog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Types lists all facts.
var Types = []Type{
	JobCreated, JobEdited, JobPromoted, JobHeld, JobBlocked, JobUnblocked, JobAnswered, JobPaused, JobResumed, JobClaimed,
	JobStarted, JobProgressed, JobReleased, JobLost, JobWarned, JobTimedOut, JobAttemptFailed, JobAsked, JobHandedIn,
	JobCompleted, JobFailed, JobApproved, JobRejected, JobCommented, JobCommentEdited,
	JobCommentResolved, JobCommentReopened, JobCommentsAnswered, JobVerdictGiven, JobPolicyHeld, JobMerged, JobMergeFailed, JobMergeHeld,
	JobPullRequestOpened, JobDelivered, JobDeliveryRefused, JobCollided, JobCollisionEnded, JobPreemptAsked,
	JobPreemptWithdrawn, JobPreempted, JobCancelRequested, JobPauseRequested,
	JobCancelled, JobRetried, JobArchived, JobRanked, JobUndone, JobLinked, JobUnlinked, JobCompacted, JobRecorded,
	JobRepaired, JobPurged, ProductSaved, ProductDeleted,
	BudgetCreated, BudgetChanged, BudgetRemoved, BudgetRaised, BudgetTransferred, BudgetThreshold, BudgetWillRunOut, BudgetStopped,
	BudgetAdjusted, BudgetRepaired, PriceSaved, PriceAsked, PriceDecided, UsagePriced,
	ExportCreated, ExportReset, ExportRemoved,
	WorkspaceCreated, WorkspaceRenamed, MemberInvited, InvitationRevoked, MemberJoined, MemberRoleChanged, MemberRemoved,
	MemberLeft, AccountRenamed, PasswordChanged, SecondFactorOn, SecondFactorOff, IdentityLinked, IdentityUnlinked,
	SessionsEnded, TokenIssued, TokenRevoked, AgentCutOff, KeyRotationBegun, KeyRotationDone,
	FleetStopped, FleetReleased, DispatchChanged, NotificationsChanged, LogLost, LossNoted, PoolSaved, PoolDeleted, FactoryDrained,
	FactoryUndrained, FactoryRemoved, AgentRegistered, AgentSuperseded, AgentTerminated, AgentWentStale, AgentDied, AgentRevived,
	AgentEnded,
	ProviderHeld, WebhookCreated, WebhookChanged, WebhookSecretRotated, WebhookDisabled, WebhookDeleted,
	MemberDisabled, MemberEnabled, MemberSessionsEnded, LogInDisowned, WorkspaceFactorSet,
}

// Takes reports whether a type of a filter, such as "job.created" or "job.*", is that of an event.
func Takes(wanted string, t Type) bool {
	family, all := strings.CutSuffix(wanted, "*")
	return string(t) == wanted || all && strings.HasSuffix(family, ".") && strings.HasPrefix(string(t), family)
}

// CheckTypes refuses types of a filter that no event can have, each by its place in
// the list. "job.*" is every type of jobs.
func CheckTypes(field string, types []string) error {
	p := fault.Problems{}
	for i, name := range types {
		if !slices.ContainsFunc(Types, func(t Type) bool { return Takes(name, t) }) {
			p.Add(fmt.Sprintf("%s[%d]", field, i), "There is no such type of events.")
		}
	}
	return p.Err()
}
