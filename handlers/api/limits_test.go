package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// bound is a range; none is an end without a limit.
type bound struct{ low, high int64 }

const none = -1

// limit is one range of the nouns and the places that state it, openapi.yaml's and the
// columns' with a CHECK, separated by blanks.
type limit struct {
	bound
	api, columns string
}

var limits = []limit{
	{bound{1, jobs.MaxKey}, "NewJob.key NewJob.depends_on[] JobPatch.depends_on[]", "job.key"},
	{bound{1, jobs.MaxTitle}, "NewJob.title JobPatch.title", "job.title"},
	{bound{none, jobs.MaxBody}, "NewJob.body JobPatch.body", ""},
	{bound{none, jobs.MaxName}, "NewJob.kind NewJob.product NewJob.factory NewJob.phase JobPatch.factory JobPatch.phase", "job.kind job.phase"},
	{bound{1, jobs.MaxName}, "NewJob.tags[] JobPatch.tags[] ProductSettings.name", "product.name"},
	{bound{none, jobs.MaxRepo}, "NewJob.repo JobPatch.repo", "job.repo"},
	{bound{1, jobs.MaxRepo}, "ProductSettings.repos[]", "product_repo.repo"},
	{bound{none, jobs.MaxCapabilities}, "NewJob.capabilities JobPatch.capabilities", ""},
	{bound{none, jobs.MaxTags}, "NewJob.tags JobPatch.tags", ""},
	{bound{none, jobs.MaxAcceptance}, "NewJob.acceptance JobPatch.acceptance JobPatch.acceptance_met", ""},
	{bound{1, jobs.MaxCriterion}, "NewJob.acceptance[] JobPatch.acceptance[]", ""},
	{bound{none, jobs.MaxDependencies}, "NewJob.depends_on JobPatch.depends_on", ""},
	{bound{none, jobs.MaxSecrets}, "NewJob.secret_keys", ""},
	{bound{1, jobs.MaxSecretKey}, "NewJob.secret_keys[]", "job_secret.name"},
	{bound{none, jobs.MaxComplexity}, "NewJob.estimated_complexity JobPatch.estimated_complexity", "job.estimated_complexity"},
	{bound{1, jobs.MaxIdempotencyKey}, "NewJob.idempotency_key", "job.idempotency_key"},
	{bound{0, jobs.MaxPriority}, "NewJob.priority JobPatch.priority", "job.priority"},
	{bound{0, jobs.MaxTries}, "NewJob.max_retries NewJob.max_lost JobPatch.max_retries", "job.max_retries job.max_lost"},
	{bound{none, jobs.MaxReason}, "NewJob.blocked_reason", ""},
	{bound{0, jobs.MaxBackoffSeconds}, "NewJob.retry_backoff_seconds", "job.retry_backoff_seconds"},
	{bound{jobs.MinEstimate, jobs.MaxEstimate}, "NewJob.estimated_minutes JobPatch.estimated_minutes EstimateRequest.estimated_minutes", "job.estimated_minutes"},
	{bound{jobs.MinTokenBudget, none}, "NewJob.token_budget JobPatch.token_budget", "job.token_budget"},
	{bound{none, spend.MaxAmountText}, "NewJob.budget_usd JobPatch.budget_usd NewBudget.limit_usd NewBudget.slice_usd BudgetPatch.limit_usd BudgetPatch.slice_usd BudgetTransfer.amount_usd BudgetRaise.amount_usd", ""},
	{bound{1, budgets.MaxName}, "NewBudget.name BudgetPatch.name", "budget.name"},
	{bound{none, budgets.MaxPhase}, "NewBudget.phase", "budget.phase"},
	{bound{none, budgets.MaxZone}, "NewBudget.timezone", ""},
	{bound{none, budgets.MaxReason}, "BudgetTransfer.reason BudgetRaise.reason", "budget_ledger.reason"},
	{bound{0, budgets.MaxTokens}, "NewBudget.limit_tokens BudgetPatch.limit_tokens", ""},
	{bound{1, budgets.MaxTokens}, "NewBudget.slice_tokens BudgetPatch.slice_tokens", ""},
	{bound{0, budgets.MaxRuns}, "NewBudget.limit_runs BudgetPatch.limit_runs", ""},
	{bound{none, budgets.MaxAlerts}, "NewBudget.alert_at BudgetPatch.alert_at", ""},
	{bound{1, budgets.MaxAlert}, "NewBudget.alert_at[] BudgetPatch.alert_at[]", ""},
	{bound{none, jobs.MaxName}, "NewBudget.product", ""},
	{bound{none, jobs.MaxKey}, "NewBudget.job", ""},
	{bound{jobs.MinComplexity, jobs.MaxComplexityStep}, "NewJob.complexity JobPatch.complexity EstimateRequest.complexity", "job.complexity"},
	{bound{jobs.MinBudgetNanos, jobs.MaxBudgetNanos}, "", "job.budget_nanos"},
	{bound{none, jobs.MaxFiles}, "NewJob.files JobPatch.files", "job.files"},
	{bound{1, jobs.MaxFile}, "NewJob.files[] JobPatch.files[] Completion.files_touched[] ProgressReport.files_touched[]", ""},
	{bound{none, collisions.MaxReported}, "ProgressReport.files_touched", ""},
	{bound{none, jobs.MaxFilesTouched}, "Completion.files_touched", "job.files_touched"},
	{bound{none, jobs.MaxCommit}, "ApproveAction.head MergeAction.commit Completion.commit", "job.approved_head job.merged_commit"},
	{bound{none, jobs.MaxCommit}, "NewComment.commit", ""},
	{bound{1, jobs.MaxCommit}, "", "job_comment.commit"},
	{bound{none, comments.MaxPath}, "NewComment.path", ""},
	{bound{1, comments.MaxPath}, "", "job_comment.path"},
	{bound{0, comments.MaxLine}, "NewComment.line", "job_comment.line"},
	{bound{1, comments.MaxText}, "NewComment.text CommentEdit.text CommentAnswer.note", "job_comment.text"},
	{bound{none, comments.MaxLineText}, "", "job_comment.line_text"},
	{bound{none, comments.MaxOpen}, "Completion.comments", ""},
	{bound{none, jobs.MaxURL}, "MergeAction.url Completion.url", "job.url"},
	{bound{none, attempts.MaxBranch}, "DeliveryReport.branch", "attempt.delivery_branch"},
	{bound{1, jobs.MaxCommit}, "DeliveryReport.commit", ""},
	{bound{none, jobs.MaxCommit}, "", "attempt.delivery_commit"},
	{bound{none, attempts.MaxDetail}, "DeliveryReport.detail", "attempt.delivery_detail"},
	{bound{1, jobs.MaxBatch}, "NewJobs.jobs", ""},
	{bound{none, jobs.MaxRepos}, "ProductSettings.repos", ""},
	{bound{jobs.MinReviewLimit, jobs.MaxReviewLimit}, "ProductSettings.review_limit", ""},
	{bound{none, jobs.MaxMergeInto}, "ProductSettings.merge_into", "product.merge_into"},
	{bound{none, jobs.MaxMergeChecks}, "ProductSettings.merge_checks", "product.merge_checks"},
	{bound{none, jobs.MaxProofCommand}, "ProductSettings.proof_command", "product.proof_command"},
	{bound{none, evidence.MaxProofs}, "Completion.proofs", ""},
	{bound{1, jobs.MaxCriterion}, "CompletionProof.criterion", ""},
	{bound{1, jobs.MaxCommit}, "CompletionProof.commit", ""},
	{bound{none, evidence.MaxProofTitle}, "CompletionProof.title", ""},
	{bound{none, evidence.MaxProofError}, "Completion.proof_error", ""},
	{bound{0, jobs.MaxRounds}, "ProductVerifySettings.rounds", "product.verify_rounds"},
	{bound{none, jobs.MaxCapabilities}, "ProductVerifySettings.capabilities", ""},
	{bound{1, autoapprove.MaxLines}, "ProductAutoApproveSettings.max_lines", "product.auto_max_lines"},
	{bound{1, autoapprove.MaxFiles}, "ProductAutoApproveSettings.max_files", "product.auto_max_files"},
	{bound{none, autoapprove.MaxDeny}, "ProductAutoApproveSettings.deny_paths", "product.auto_deny_paths"},
	{bound{1, autoapprove.MaxPattern}, "ProductAutoApproveSettings.deny_paths[]", ""},
	{bound{1, tiermodel.MaxEngine}, "ModelRun.engine", ""},
	{bound{none, tiermodel.MaxEngine}, "", "attempt.engine"},
	{bound{none, tiermodel.MaxStored}, "", "product.models"},
	{bound{none, attempts.MaxModel}, "ModelRun.name", ""},
	{bound{1, setting.MaxProductWeight}, "", "product.dispatch_weight"},
	{bound{0, setting.MaxAgeingMinutes}, "DispatchChange.ageing_minutes", "dispatch_setting.ageing_minutes"},
	{bound{0, jobs.MaxPriority}, "DispatchChange.preempt_gap", "dispatch_setting.preempt_gap"},
	{bound{0, jobs.MaxBranchRetention}, "ProductSettings.branch_retention_days", "product.branch_retention_days"},
	{bound{none, jobs.MaxBranchJobs}, "EndedBranchesRequest.jobs", ""},

	{bound{1, fleet.MaxName}, "Registration.name FactoryInfo.name", "agent.name factory.name"},
	{bound{none, fleet.MaxName}, "Registration.model Registration.provider FactoryInfo.os", "agent.provider"},
	{bound{none, fleet.MaxCapabilities}, "Registration.capabilities FactoryInfo.capabilities", ""},
	{bound{1, fleet.MaxConcurrentJobs}, "Registration.max_concurrent_jobs", "agent.max_concurrent_jobs"},
	{bound{1, fleet.MaxHeartbeatSeconds}, "Registration.heartbeat_interval_seconds", "agent.heartbeat_interval_seconds"},
	{bound{1, fleet.MaxStaleSeconds}, "Registration.stale_after_seconds", "agent.stale_after_seconds"},
	{bound{1, fleet.MaxBootID}, "Registration.boot_id", "agent.boot_id"},
	{bound{none, tenancy.MaxAgentRoles}, "Registration.roles", ""},
	{bound{1, fleet.MaxName}, "Registration.roles[]", ""},
	{bound{1, bus.MaxBatch}, "NewMessages.messages", ""},
	{bound{1, bus.MaxThread}, "NewMessage.correlation_id", "message.correlation_id"},
	{bound{1, bus.MaxAck}, "MessageAck.seqs", ""},
	{bound{none, bus.MaxError}, "MessageNack.error", "message_delivery.error"},
	{bound{1, bus.MaxExportName}, "NewExport.name", "message_export.name"},
	{bound{0, notifications.MaxDigestMinutes}, "NotificationChange.digest_minutes", "notification_setting.digest_minutes"},
	{bound{none, notifications.MaxURL}, "NotificationChange.webhook_url NewBrowser.endpoint", ""},
	{bound{1, webhooks.MaxURL}, "NewWebhook.url WebhookPatch.url", "webhook.url"},
	{bound{none, webhooks.MaxTypes}, "NewWebhook.types WebhookPatch.types", ""},
	{bound{none, webhooks.MaxProducts}, "NewWebhook.products WebhookPatch.products", "webhook.products"},
	{bound{0, webhooks.MaxOverlap}, "WebhookRotation.overlap_hours", ""},
	{bound{none, fleet.MaxHost}, "FactoryInfo.host", "agent.host"},
	{bound{none, fleet.MaxUnavailable}, "FactoryInfo.unavailable", ""},
	{bound{none, fleet.MaxRescued}, "FactoryInfo.rescued", ""},
	{bound{1, fleet.MaxRepo}, "Unavailable.name", ""},
	{bound{none, fleet.MaxWhy}, "Unavailable.reason Rescued.why", ""},
	{bound{1, fleet.MaxRescuedName}, "Rescued.name", ""},
	{bound{none, fleet.MaxPath}, "Rescued.path", ""},
	{bound{none, fleet.MaxEngines}, "FactoryInfo.engines", ""},
	{bound{none, fleet.MaxRepos}, "FactoryInfo.repos", ""},
	{bound{1, fleet.MaxSeats}, "FactoryInfo.seats", "factory.seats"},
	{bound{none, fleet.MaxName}, "FactoryInfo.pool PoolOffers.os", "pool.os"},
	{bound{1, fleet.MaxName}, "PoolOffers.engines[] PoolOffers.capabilities[] PoolTemplate.product_scope[] Scaling.factory", "pool.name pool_start.factory"},
	{bound{none, fleet.MaxEngines}, "PoolOffers.engines", ""},
	{bound{none, fleet.MaxCapabilities}, "PoolOffers.capabilities", ""},
	{bound{none, fleet.MaxRepos}, "PoolOffers.repos", ""},
	{bound{1, fleet.MaxRepo}, "PoolOffers.repos[]", ""},
	{bound{1, pools.MaxSeats}, "PoolOffers.seats", "pool.seats"},
	{bound{0, pools.MaxFactories}, "PoolTemplate.min PoolTemplate.max PoolTemplate.min_idle", "pool.max_factories"},
	{bound{0, pools.MaxCoolDown}, "PoolTemplate.cool_down_seconds", "pool.cool_down_seconds"},
	{bound{none, pools.MaxProducts}, "PoolTemplate.product_scope", ""},
	{bound{none, pools.MaxDetail}, "Scaling.detail", "pool_start.detail"},
	{bound{1, fleet.MaxRepo}, "Repo.name", ""},
	{bound{none, fleet.MaxRepo}, "Repo.default_branch", ""},
	{bound{none, fleet.MaxURL}, "Repo.url", ""},

	{bound{1, tokens.MaxName}, "", "access_token.name"},
	{bound{none, tokens.MaxFormKey}, "", "access_token.form_key"},
	{bound{none, tokens.MaxProgram}, "", "access_token.tools_program"},
	{bound{1, workspaces.MaxName}, "", "workspace.name"},
	{bound{1, people.MaxName}, "", "account.name"},
	{bound{people.MinEmail, people.MaxEmail}, "", "account.email invitation.email"},
}

// elsewhere are bounds that are no limit of what somebody may write.
const elsewhere = "job.epoch job.progress_percent agent.generation product.review_limit JobPatch.version " +
	"NewJob.capabilities[] JobPatch.capabilities[] Registration.capabilities[] FactoryInfo.capabilities[] FactoryInfo.engines[]"

// formLimits are the lengths of what is typed into forms, by page and field. Forms that are
// tables of fields take the constants themselves; their pages test what they draw.
var formLimits = []struct {
	length int
	fields string
}{
	{jobs.MaxCriterion, "jobform.acceptance"},
	{jobs.MaxCommit, "ui.commit"},
	{jobs.MaxURL, "ui.url"},
	{actions.MaxReason, "ui.reason review.reason"},
	{lease.MaxQuestion, "job.answer"},
	{people.MaxEmail, "login.email settings.email"},
	{people.MaxName, "login.name login.workspace settings.name"},
	{passwords.MaxLength, "login.password login.current"},
}

var formField = regexp.MustCompile(`name="(\w+)"[^>]*?maxlength="(\d+)"`)

// A form takes what its noun takes: no field is cut by the browser, and none refused
// for its length alone after it was typed.
func TestFormsTakeWhatTheirNounsTake(t *testing.T) {
	stated := map[string][]string{}
	files, err := filepath.Glob("../../views/*/*.templ")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range formField.FindAllStringSubmatch(string(text), -1) {
			place := filepath.Base(filepath.Dir(file)) + "." + found[1]
			stated[place] = append(stated[place], found[2])
		}
	}
	for _, l := range formLimits {
		for _, place := range strings.Fields(l.fields) {
			if !slices.Contains(stated[place], strconv.Itoa(l.length)) {
				t.Errorf("%s takes %v characters; the constant is %d", place, stated[place], l.length)
			}
		}
	}
}

// A limit is one constant of its noun: openapi.yaml and the schema state the same, and state none beside.
func TestLimitsAgree(t *testing.T) {
	stated := statedByAPI(t)
	for place, b := range statedByColumns(t) {
		stated[place] = b
	}
	listed := map[string]bool{}
	for _, place := range strings.Fields(elsewhere) {
		listed[place] = true
	}
	for _, l := range limits {
		for _, place := range strings.Fields(l.api + " " + l.columns) {
			listed[place] = true
			if got, ok := stated[place]; !ok || got != l.bound {
				t.Errorf("%s states %+v; the constant is %+v (%d is none)", place, got, l.bound, none)
			}
		}
	}
	whole := regexp.MustCompile(`^(NewJob|JobPatch|ProductSettings|Registration|FactoryInfo|Repo|job|product|product_repo|agent|factory|access_token|workspace|account)\.`)
	for place, b := range stated {
		if whole.MatchString(place) && !listed[place] {
			t.Errorf("%s states %+v, which no constant has", place, b)
		}
	}
}

// statedByAPI returns the ranges of openapi.yaml by schema and property; "[]" is an entry of a list.
func statedByAPI(t *testing.T) map[string]bound {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stated := map[string]bound{}
	for name, schema := range doc.Components.Schemas {
		for property, ref := range schema.Value.Properties {
			at, p := name+"."+property, ref.Value
			if ref.Value.Type.Is("array") {
				state(stated, at, low(p.MinItems), high(p.MaxItems))
				at, p = at+"[]", p.Items.Value
			}
			switch {
			case p.Type.Is("string"):
				state(stated, at, low(p.MinLength), high(p.MaxLength))
			case p.Type.Is("integer"):
				state(stated, at, number(p.Min), number(p.Max))
			}
		}
	}
	return stated
}

func state(stated map[string]bound, place string, low, high int64) {
	if low != none || high != none {
		stated[place] = bound{low, high}
	}
}

func low(n uint64) int64 {
	if n == 0 {
		return none
	}
	return int64(n)
}

func high(n *uint64) int64 {
	if n == nil {
		return none
	}
	return int64(*n)
}

func number(n *float64) int64 {
	if n == nil {
		return none
	}
	return int64(*n)
}

// statedByColumns returns the ranges in the CHECKs of single columns, by table and column.
func statedByColumns(t *testing.T) map[string]bound {
	t.Helper()
	text := dbfactory.Text(t, dbtest.New(t), `SELECT string_agg(c.conrelid::regclass || '.' || a.attname || '|' || pg_get_constraintdef(c.oid), E'\n')
		FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
		WHERE c.contype = 'c' AND cardinality(c.conkey) = 1`)
	stated := map[string]bound{}
	for line := range strings.Lines(text) {
		place, check, _ := strings.Cut(strings.TrimSpace(line), "|")
		low := end(check, `>=? \(?'?(-?\d+)`)
		if strings.Contains(check, " > ") && low != none {
			low++
		}
		state(stated, place, low, end(check, `<= \(?'?(\d+)`))
	}
	return stated
}

func end(check, form string) int64 {
	m := regexp.MustCompile(form).FindStringSubmatch(check)
	if m == nil {
		return none
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return none
	}
	return n
}
