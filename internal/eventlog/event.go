// Package eventlog is the append-only log: one event per change, written in the
// transaction that made the change, read in an order that never skips one.
//
// An event's id is taken before its transaction commits, so ids do not follow
// the order of commits. The log is therefore ordered by (transaction, id) and
// read only below the oldest transaction still running: whatever lies there can
// no longer change. A Cursor names a place in that order.
package eventlog

import (
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Type names a fact, in the past tense.
type Type string

// The facts about jobs, settings, factories and agents. The schema has the same list:
// a new one needs a line in a migration, SELECT add_event_types('job.purged').
const (
	JobCreated          Type = "job.created"
	JobEdited           Type = "job.edited"
	JobPromoted         Type = "job.promoted"
	JobHeld             Type = "job.held"
	JobBlocked          Type = "job.blocked"
	JobUnblocked        Type = "job.unblocked"
	JobAnswered         Type = "job.answered"
	JobPaused           Type = "job.paused"
	JobResumed          Type = "job.resumed"
	JobClaimed          Type = "job.claimed"
	JobStarted          Type = "job.started"
	JobProgressed       Type = "job.progressed"
	JobReleased         Type = "job.released"
	JobLost             Type = "job.lost"
	JobWarned           Type = "job.warned"
	JobTimedOut         Type = "job.timed_out"
	JobAttemptFailed    Type = "job.attempt_failed"
	JobAsked            Type = "job.asked"
	JobHandedIn         Type = "job.handed_in"
	JobCompleted        Type = "job.completed"
	JobFailed           Type = "job.failed"
	JobApproved         Type = "job.approved"
	JobRejected         Type = "job.rejected"
	JobPolicyHeld       Type = "job.policy_held" // the limits of its product leave the work to a person
	JobCommented        Type = "job.commented"
	JobCommentEdited    Type = "job.comment_edited"
	JobCommentResolved  Type = "job.comment_resolved"
	JobCommentReopened  Type = "job.comment_reopened"
	JobCommentsAnswered Type = "job.comments_answered" // by the agent, with its work
	JobVerdictGiven     Type = "job.verdict_given"     // a verifier said what it thinks of the work
	JobMerged           Type = "job.merged"
	JobMergeFailed      Type = "job.merge_failed"
	// JobPullRequestOpened: approved work is to be merged by a pull request.
	JobPullRequestOpened Type = "job.pull_request_opened"
	JobMergeHeld         Type = "job.merge_held"       // it stays approved: its merge cannot begin, or be concluded, yet
	JobDelivered         Type = "job.delivered"        // the commit of an attempt is where its factory puts it
	JobDeliveryRefused   Type = "job.delivery_refused" // the origin did not take it
	JobCollided          Type = "job.collided"         // it and another one that is worked on touch the same file
	JobCollisionEnded    Type = "job.collision_ended"  // the lease of that other one has ended
	JobPreemptAsked      Type = "job.preempt_asked"    // its agent is asked to give the seat to a more urgent job
	JobPreemptWithdrawn  Type = "job.preempt_withdrawn"
	JobPreempted         Type = "job.preempted" // it was given back as asked
	JobCancelRequested   Type = "job.cancel_requested"
	JobPauseRequested    Type = "job.pause_requested"
	JobCancelled         Type = "job.cancelled"
	JobRetried           Type = "job.retried"
	JobArchived          Type = "job.archived"
	JobRanked            Type = "job.ranked" // a person has put it before or after another one, or cleared that
	JobUndone            Type = "job.undone" // its last act was taken back
	JobLinked            Type = "job.linked"
	JobUnlinked          Type = "job.unlinked"
	JobCompacted         Type = "job.compacted"
	JobRecorded          Type = "job.recorded" // what the log did not record before an upgrade
	JobRepaired          Type = "job.repaired" // its row was made what the log says
	JobPurged            Type = "job.purged"   // the job was deleted; all that is kept of its events
	ProductSaved         Type = "product.saved"
	ProductDeleted       Type = "product.deleted"
	BudgetCreated        Type = "budget.created"
	BudgetChanged        Type = "budget.changed"
	BudgetRemoved        Type = "budget.removed"
	BudgetRaised         Type = "budget.raised"      // also when a raise ended
	BudgetTransferred    Type = "budget.transferred" // from one budget to another
	ExportCreated        Type = "export.created"
	ExportReset          Type = "export.reset" // its position was moved back
	ExportRemoved        Type = "export.removed"
	BudgetStopped        Type = "budget.stopped"
	BudgetAdjusted       Type = "budget.adjusted" // an alarm: leases held what was not reserved
	BudgetRepaired       Type = "budget.repaired" // by fleetboard audit --repair
	BudgetThreshold      Type = "budget.threshold_reached"
	BudgetWillRunOut     Type = "budget.will_run_out" // before its period ends
	PriceSaved           Type = "price.saved"
	PriceAsked           Type = "price.asked"   // a person, what a model without a price counts as
	PriceDecided         Type = "price.decided" // by a person
	UsagePriced          Type = "usage.priced"
	WorkspaceCreated     Type = "workspace.created"
	WorkspaceRenamed     Type = "workspace.renamed"
	MemberInvited        Type = "member.invited"
	InvitationRevoked    Type = "invitation.revoked"
	MemberJoined         Type = "member.joined"
	MemberRoleChanged    Type = "member.role_changed"
	MemberRemoved        Type = "member.removed"
	MemberLeft           Type = "member.left"
	MemberDisabled       Type = "member.disabled"
	MemberEnabled        Type = "member.enabled"

	MemberSessionsEnded Type = "member.sessions_ended"
	LogInDisowned       Type = "account.log_in_disowned"
	WorkspaceFactorSet  Type = "workspace.second_factor_set"

	AccountRenamed   Type = "account.renamed"
	PasswordChanged  Type = "account.password_changed"
	SecondFactorOn   Type = "account.second_factor_on"
	SecondFactorOff  Type = "account.second_factor_off"
	IdentityLinked   Type = "account.identity_linked"
	IdentityUnlinked Type = "account.identity_unlinked"
	SessionsEnded    Type = "account.sessions_ended"
	TokenIssued      Type = "token.issued"
	TokenRevoked     Type = "token.revoked"
	AgentCutOff      Type = "agent.cut_off"
	KeyRotationBegun Type = "key.rotation_begun"
	KeyRotationDone  Type = "key.rotation_done"
	FleetStopped     Type = "fleet.stopped" // by a person: all of it, or products
	FleetReleased    Type = "fleet.released"
	DispatchChanged  Type = "dispatch.changed" // how jobs are given out

	NotificationsChanged Type = "notifications.changed" // by a person, what he is told of

	LogLost          Type = "log.lost"       // the database lacks events that a server had seen
	LossNoted        Type = "log.loss_noted" // a person knows of it
	PoolSaved        Type = "pool.saved"
	PoolDeleted      Type = "pool.deleted"
	FactoryDrained   Type = "factory.drained"
	FactoryUndrained Type = "factory.undrained"
	FactoryRemoved   Type = "factory.removed"
	AgentRegistered  Type = "agent.registered"
	AgentSuperseded  Type = "agent.superseded"
	AgentTerminated  Type = "agent.terminated"
	AgentWentStale   Type = "agent.went_stale"
	AgentDied        Type = "agent.died"
	AgentRevived     Type = "agent.revived"
	AgentEnded       Type = "agent.ended"   // by itself
	ProviderHeld     Type = "provider.held" // it takes no requests for a time

	WebhookCreated       Type = "webhook.created"
	WebhookChanged       Type = "webhook.changed"
	WebhookSecretRotated Type = "webhook.secret_rotated"
	WebhookDisabled      Type = "webhook.disabled" // by the server: its receiver takes nothing
	WebhookDeleted       Type = "webhook.deleted"
)

// Change is one field's old and new value, as JSON. Of one that is longer than
// maxInline there is the SHA-256 of its JSON instead, and the value is a Content.
type Change struct {
	Field     string `json:"field"`
	Old       any    `json:"old"`
	New       any    `json:"new"`
	OldSHA256 string `json:"old_sha256,omitempty"`
	NewSHA256 string `json:"new_sha256,omitempty"`
}

// Event is one fact.
type Event struct {
	ID     int64
	Cursor Cursor
	Type   Type
	JobID  *ids.ID
	JobKey string
	Actor  tenancy.Actor
	Epoch  *int64
	At     time.Time
	// SavedAt is when the job's row was written along with the event, as the row
	// has it; nil where the event changed no row of a job.
	SavedAt *time.Time
	Changes []Change
	Payload json.RawMessage
}
