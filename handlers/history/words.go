package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// eventKinds are the words for the facts; other ones are shown by their name.
var eventKinds = map[eventlog.Type]string{
	eventlog.JobCreated: "created", eventlog.JobEdited: "edited", eventlog.JobPromoted: "ready", eventlog.JobHeld: "held",
	eventlog.JobBlocked: "blocked", eventlog.JobUnblocked: "unblocked", eventlog.JobPaused: "paused", eventlog.JobResumed: "resumed",
	eventlog.JobClaimed: "claimed", eventlog.JobStarted: "started", eventlog.JobProgressed: "progress", eventlog.JobReleased: "given back",
	eventlog.JobLost: "lease lost", eventlog.JobWarned: "warned", eventlog.JobTimedOut: "timed out",
	eventlog.JobAttemptFailed: "attempt failed", eventlog.JobAsked: "asked", eventlog.JobAnswered: "answered",
	eventlog.JobHandedIn: "handed in", eventlog.JobCompleted: "completed", eventlog.JobFailed: "failed",
	eventlog.JobApproved: "approved", eventlog.JobRejected: "sent back", eventlog.JobVerdictGiven: "verified",
	eventlog.JobCommented: "commented", eventlog.JobCommentEdited: "comment edited", eventlog.JobCommentResolved: "comment resolved",
	eventlog.JobCommentReopened: "comment reopened", eventlog.JobCommentsAnswered: "comments answered",
	eventlog.JobPolicyHeld: "left to a person",
	eventlog.JobMerged:     "merged", eventlog.JobMergeFailed: "merge failed", eventlog.JobMergeHeld: "merge held",
	eventlog.JobPullRequestOpened: "pull request opened",
	eventlog.JobDelivered:         "delivered", eventlog.JobDeliveryRefused: "push refused",
	eventlog.JobCollided: "collides", eventlog.JobCollisionEnded: "collision over",
	eventlog.JobPreemptAsked: "seat asked", eventlog.JobPreemptWithdrawn: "seat kept", eventlog.JobPreempted: "gave its seat",
	eventlog.JobCancelRequested: "cancel asked", eventlog.JobPauseRequested: "pause asked", eventlog.JobCancelled: "cancelled",
	eventlog.JobRetried: "retried", eventlog.JobArchived: "archived", eventlog.JobRanked: "moved", eventlog.JobUndone: "undone",
	eventlog.JobLinked: "linked", eventlog.JobUnlinked: "unlinked",
	eventlog.JobCompacted: "summed up", eventlog.JobRecorded: "recorded", eventlog.JobRepaired: "repaired", eventlog.JobPurged: "deleted",
	eventlog.ProductSaved: "product saved", eventlog.ProductDeleted: "product deleted",
	eventlog.BudgetCreated: "budget made", eventlog.BudgetChanged: "budget changed", eventlog.BudgetRemoved: "budget removed",
	eventlog.BudgetRaised: "budget raised", eventlog.BudgetTransferred: "transferred",
	eventlog.BudgetThreshold: "budget alert", eventlog.BudgetWillRunOut: "runs out",
	eventlog.BudgetStopped: "budget left used up", eventlog.BudgetAdjusted: "budget was wrong",
	eventlog.BudgetRepaired: "budget repaired", eventlog.PriceSaved: "price saved",
	eventlog.PriceAsked: "price asked", eventlog.PriceDecided: "price decided", eventlog.UsagePriced: "usage priced",
	eventlog.PoolSaved: "pool saved", eventlog.PoolDeleted: "pool deleted",
	eventlog.WebhookCreated: "webhook made", eventlog.WebhookChanged: "webhook changed", eventlog.WebhookSecretRotated: "webhook secret",
	eventlog.WebhookDisabled: "webhook off", eventlog.WebhookDeleted: "webhook deleted",
	eventlog.LogLost: "log lost", eventlog.LossNoted: "loss noted",
	eventlog.FleetStopped: "stopped", eventlog.FleetReleased: "released", eventlog.DispatchChanged: "dispatch",
	eventlog.NotificationsChanged: "notifications",
	eventlog.FactoryDrained:       "drained", eventlog.FactoryUndrained: "undrained", eventlog.FactoryRemoved: "removed",
	eventlog.AgentRegistered: "registered", eventlog.AgentSuperseded: "superseded", eventlog.AgentTerminated: "terminated",
	eventlog.AgentWentStale: "went silent", eventlog.AgentDied: "died", eventlog.AgentRevived: "came back",
	eventlog.AgentEnded:    "ended",
	eventlog.ProviderHeld:  "rate limit",
	eventlog.ExportCreated: "export made", eventlog.ExportReset: "export reset", eventlog.ExportRemoved: "export removed",
	eventlog.AgentCutOff: "cut off", eventlog.WorkspaceCreated: "workspace", eventlog.WorkspaceRenamed: "workspace",
	eventlog.MemberInvited: "invited", eventlog.InvitationRevoked: "invitation", eventlog.MemberJoined: "joined",
	eventlog.MemberRoleChanged: "role", eventlog.MemberRemoved: "removed", eventlog.MemberLeft: "left",
	eventlog.AccountRenamed: "account", eventlog.PasswordChanged: "password", eventlog.SecondFactorOn: "second factor",
	eventlog.SecondFactorOff: "second factor", eventlog.IdentityLinked: "log in", eventlog.IdentityUnlinked: "log in",
	eventlog.SessionsEnded: "logged out", eventlog.TokenIssued: "token made", eventlog.TokenRevoked: "token revoked",
	eventlog.KeyRotationBegun: "key rotation", eventlog.KeyRotationDone: "key rotation",
}

// Kind returns the word for a type of events.
func Kind(t eventlog.Type) string {
	if word := eventKinds[t]; word != "" {
		return word
	}
	_, name, _ := strings.Cut(string(t), ".")
	return strings.ReplaceAll(name, "_", " ")
}

// StatusChange gives the statuses that an event leads from and to, "" for one
// that changes none.
func StatusChange(e eventlog.Event) (from, to jobs.Status) {
	for _, c := range e.Changes {
		if c.Field == "status" {
			return jobs.Status(toText(c.Old)), jobs.Status(toText(c.New))
		}
	}
	return "", ""
}

func toText(v any) string {
	text, _ := v.(string)
	return text
}

// Text returns what an event says beside the changes of fields.
func Text(e eventlog.Event) ui.Sentence {
	var payload map[string]any
	if json.Unmarshal(e.Payload, &payload) != nil {
		payload = nil
	}
	text := FactText(e, payload)
	if by := carriedOutBy(e.Payload); by != (tenancy.Actor{}) {
		carried := ui.T(tenancy.Credit(tenancy.Actor{}, by))
		text = append(text[:len(text):len(text)], carried)
	}
	return text
}

// carriedOutBy returns who carried out what another one decided, from the payload.
func carriedOutBy(payload json.RawMessage) tenancy.Actor {
	var said struct {
		CarriedOutBy tenancy.Actor `json:"carried_out_by"`
	}
	if json.Unmarshal(payload, &said) != nil {
		return tenancy.Actor{}
	}
	return said.CarriedOutBy
}

// saidIn is the field of a job whose new value is the text of an event.
var saidIn = map[eventlog.Type]string{eventlog.JobAsked: "question", eventlog.JobAnswered: "answer", eventlog.JobBlocked: "blocked_reason"}

// unsaidText is the text of a directive that gives no reason.
var unsaidText = map[eventlog.Type]string{eventlog.JobCancelRequested: "the agent has 60 seconds to answer",
	eventlog.JobPauseRequested: "the agent has 60 seconds to answer", eventlog.JobWarned: "long past its estimate"}

// madeText is the text of events by which the log and the jobs were brought together.
var madeText = map[eventlog.Type]string{eventlog.JobRecorded: "what earlier versions kept beside the log",
	eventlog.JobRepaired: "made what its history tells"}

// FactText is EventText without who carried it out.
func FactText(e eventlog.Event, payload map[string]any) ui.Sentence {
	said := func(name string) string { return web.FirstLine(toText(payload[name]), web.MaxQuote) }
	switch e.Type {
	case eventlog.JobProgressed:
		return ui.Text(progressText(e.Changes))
	case eventlog.JobCancelRequested, eventlog.JobPauseRequested, eventlog.JobWarned:
		return ui.Text(cmp.Or(said("text"), unsaidText[e.Type]))
	case eventlog.JobLinked, eventlog.JobUnlinked:
		return linkText(said("type"), said("job"))
	case eventlog.JobCompacted:
		return ui.Text(web.Plural(toNumber(payload["events"]), "older event", "older events") + " in one")
	case eventlog.JobRecorded, eventlog.JobRepaired:
		return ui.Text(madeText[e.Type])
	case eventlog.JobPurged:
		return ui.Text(said("key") + " with " + web.Plural(toNumber(payload["events"]), "event", "events"))
	case eventlog.JobClaimed:
		return onFactory(said("factory"))
	case eventlog.JobDelivered, eventlog.JobDeliveryRefused, eventlog.JobVerdictGiven:
		return deliveryText(e.Type, said)
	case eventlog.JobPreemptAsked, eventlog.JobPreemptWithdrawn, eventlog.JobPreempted, eventlog.JobCollided, eventlog.JobCollisionEnded:
		return otherJobText(e.Type, said, payload)
	case eventlog.JobAsked, eventlog.JobAnswered, eventlog.JobBlocked:
		return ui.Text(newValue(e.Changes, saidIn[e.Type]))
	case eventlog.JobUndone:
		return ui.Text("“" + Kind(eventlog.Type(said("undid"))) + "” was taken back")
	case eventlog.JobMerged:
		if said("commit")+said("url") == "" && e.Actor.Kind == tenancy.KindSystem {
			return ui.Text("there was nothing to merge")
		}
	}
	if words := factWords[e.Type]; words != nil {
		return words(said, payload)
	}
	if text := fleetText(e.Type, said, payload); len(text) > 0 {
		return text
	}
	if words := SettingWords[e.Type]; words != nil {
		return words(setting{said: said, payload: payload, changes: e.Changes})
	}
	for _, name := range []string{"title", "reason", "error", "question", "commit", "url"} {
		if text := said(name); text != "" {
			return ui.Text(text)
		}
	}
	return ui.Text(reason.Held(jobs.WaitReason(newValue(e.Changes, "wait_reason"))))
}

// rankText says where a person has put a job in the order.
func rankText(said func(string) string) ui.Sentence {
	for _, side := range []string{"before", "after"} {
		if key := said(side); key != "" {
			return ui.Say(ui.T(side+" "), ui.Link(key, links.Job(key)))
		}
	}
	return ui.Text("to where it stands by its waiting")
}

// otherJobText names the other job that an event is about.
func otherJobText(kind eventlog.Type, said func(string) string, payload map[string]any) ui.Sentence {
	if kind == eventlog.JobCollided || kind == eventlog.JobCollisionEnded {
		return collisionText(said("job"), payload)
	}
	return seatText(said)
}

// whyKept says why a request for a seat has ended and its job goes on.
var whyKept = map[string]string{"expired": "its agent did not answer", "withdrawn": "it is needed no more",
	"kept": "it was decided otherwise", "ended": "its job has ended"}

// seatText is "for FB-12", of the job that is to give a seat, or "of FB-7", of the one that is to get it,
// with why nothing came of it.
func seatText(said func(string) string) ui.Sentence {
	text := ui.Say(ui.T("for "), ui.Link(said("job"), links.Job(said("job"))))
	if victim := said("victim"); victim != "" {
		text = ui.Say(ui.T("of "), ui.Link(victim, links.Job(victim)))
	}
	if why := whyKept[said("why")]; why != "" {
		text = append(text, ui.T(": "+why))
	}
	return text
}

func onFactory(name string) ui.Sentence {
	if name == "" {
		return nil
	}
	return ui.Say(ui.T("on "), ui.Name(name))
}

// verdictText returns what a verifier said of a commit, in which job.
func verdictText(said func(string) string) ui.Sentence {
	return ui.Say(ui.T(verdictWords(said("verdict"))+": "), ui.Key(said("commit")), ui.T(", in "),
		ui.Link(said("job"), links.Job(said("job"))))
}

// verdictWords returns a verdict as people read it.
func verdictWords(verdict string) string {
	switch verdict {
	case "approve":
		return "The verifier approves"
	case "changes":
		return "The verifier wants changes"
	}
	return "The verifier is not sure"
}

// deliveryText returns what became of the commit of an attempt, also with its verifier.
func deliveryText(kind eventlog.Type, said func(string) string) ui.Sentence {
	text := ui.Say(ui.Key(cmp.Or(said("branch"), said("commit"))))
	switch {
	case kind == eventlog.JobVerdictGiven:
		return verdictText(said)
	case kind == eventlog.JobDeliveryRefused && said("detail") != "":
		return append(text, ui.T(": "+said("detail")))
	case kind == eventlog.JobDeliveryRefused:
		return append(text, ui.T(" was not taken by the origin"))
	case said("state") == string(attempts.Local):
		return append(text, ui.T(" in the clone of its host, which has no origin"))
	}
	return append(text, ui.T(" pushed to the origin"))
}

// stoppedThings names products, or the whole fleet.
func stoppedThings(payload map[string]any) ui.Sentence {
	list, _ := payload["products"].([]any)
	if len(list) == 0 {
		return ui.Text("the whole fleet")
	}
	spans := make([]ui.Span, len(list))
	for i, name := range list {
		spans[i] = ui.Name(toText(name))
	}
	return web.JoinSpans(spans)
}

// fleetText is about an event of an agent, a factory or a product.
func fleetText(kind eventlog.Type, said func(string) string, payload map[string]any) ui.Sentence {
	switch kind {
	case eventlog.AgentRegistered, eventlog.AgentWentStale, eventlog.AgentDied, eventlog.AgentRevived, eventlog.AgentEnded:
		return append(ui.Say(ui.Name(said("agent")), ui.T(" ")), onFactory(said("factory"))...)
	case eventlog.AgentSuperseded:
		return ui.Say(ui.Name(said("agent")), ui.T(" was started anew, "+web.Plural(toNumber(payload["leases"]), "job",
			"jobs")+" given back"))
	case eventlog.AgentTerminated:
		return append(ui.Say(ui.Name(said("agent"))), colon(said("reason"))...)
	case eventlog.ProviderHeld:
		return ui.Say(ui.Name(said("provider")), ui.T(" takes no requests for a time, as "), ui.Name(said("job")), ui.T(" found out"))
	case eventlog.FleetStopped:
		return append(stoppedThings(payload), ui.T(map[string]string{"all": ", running jobs too"}[said("hold")]+": "+said("reason")))
	case eventlog.FleetReleased:
		return append(stoppedThings(payload), ui.T(" may go on"))
	case eventlog.WebhookCreated, eventlog.WebhookChanged, eventlog.WebhookSecretRotated, eventlog.WebhookDeleted:
		return ui.Say(ui.Name(said("url")))
	case eventlog.WebhookDisabled:
		return ui.Say(ui.Name(said("url")), ui.T(map[string]string{"gone": " says that it is gone",
			"failing": " took nothing for more than a day"}[said("reason")]))
	case eventlog.PoolSaved, eventlog.PoolDeleted:
		return ui.Say(ui.Name(said("pool")))
	case eventlog.FactoryDrained:
		return ui.Say(ui.Name(said("factory")), ui.T(" takes no new jobs"))
	case eventlog.FactoryUndrained:
		return ui.Say(ui.Name(said("factory")), ui.T(" takes jobs again"))
	case eventlog.FactoryRemoved:
		return ui.Say(ui.Name(said("factory")), ui.T(" with "+web.Plural(listLength(payload["agents"]), "agent", "agents")))
	case eventlog.BudgetCreated, eventlog.BudgetChanged, eventlog.BudgetRemoved, eventlog.BudgetRaised, eventlog.BudgetTransferred,
		eventlog.BudgetThreshold, eventlog.BudgetWillRunOut, eventlog.BudgetStopped, eventlog.BudgetAdjusted,
		eventlog.BudgetRepaired:
		return append(ui.Say(ui.Name(said("budget"))), budgetWords(kind, said, payload)...)
	case eventlog.PriceAsked:
		return ui.Say(ui.T("what does "), ui.Name(said("model")), ui.T(" count as for "), ui.Name(said("budget")), ui.T("?"))
	case eventlog.PriceDecided:
		return priceDecided(said)
	case eventlog.ExportCreated, eventlog.ExportReset, eventlog.ExportRemoved:
		return ui.Say(ui.Name(said("export")), ui.T(" of "+said("source")))
	case eventlog.UsagePriced:
		return ui.Say(ui.T(web.Plural(toNumber(payload["entries"]), "entry", "entries") + ", " + moneyText(said("cost_usd"))))
	case eventlog.ProductSaved, eventlog.ProductDeleted:
		if name := cmp.Or(said("product"), said("name")); name != "" {
			return append(ui.Say(ui.Name(name)), colon(said("reason"))...)
		}
	}
	return nil
}

// priceDecided is what a model without a price counts as.
func priceDecided(said func(string) string) ui.Sentence {
	if as := said("decision"); as != string(prices.Pass) {
		return ui.Say(ui.Name(said("model")), ui.T(" counts as "), ui.Name(as))
	}
	return ui.Say(ui.Name(said("model")), ui.T(" passes without a price"))
}

// budgetWords returns what happened to a budget whose name stands before them.
func budgetWords(kind eventlog.Type, said func(string) string, payload map[string]any) []ui.Span {
	amount := moneyText(said("amount_usd"))
	switch kind { // the others say all by their names
	case eventlog.BudgetTransferred:
		return append([]ui.Span{ui.T(": " + amount + " to "), ui.Name(said("to"))}, colon(said("reason"))...)
	case eventlog.BudgetRaised:
		return append([]ui.Span{ui.T(" by " + amount)}, colon(said("reason"))...)
	case eventlog.BudgetThreshold:
		return []ui.Span{ui.T(fmt.Sprintf(" is at %d %%", toNumber(payload["threshold"])))}
	case eventlog.BudgetAdjusted:
		return []ui.Span{ui.T(": leases held " + amount + " more than was reserved; run fleetboard audit")}
	case eventlog.BudgetWillRunOut:
		return []ui.Span{ui.T(" runs out before its period ends")}
	}
	return nil
}

// moneyField ends the names of fields that are amounts of dollars.
const moneyField = "_usd"

// moneyText returns an amount of an event as people read it.
func moneyText(amount string) string {
	if n, err := spend.ParseAmount("", amount, math.MaxInt64); err == nil {
		return n.String()
	}
	return amount
}

func colon(text string) []ui.Span {
	if text == "" {
		return nil
	}
	return []ui.Span{ui.T(": " + text)}
}

// linkedAs say what a link means for the job that the event is about.
var linkedAs = map[jobs.LinkType]string{
	jobs.Blocks: "waits for ", jobs.Gate: "waits for its child ", jobs.Parent: "child of ", jobs.DiscoveredFrom: "found in ",
	jobs.Duplicates: "duplicates ", jobs.Supersedes: "takes the place of ",
}

func linkText(kind, key string) ui.Sentence {
	word := linkedAs[jobs.LinkType(kind)]
	if word == "" {
		word = kind + " "
	}
	return ui.Say(ui.T(word), ui.Link(key, links.Job(key)))
}

func newValue(changes []eventlog.Change, field string) string {
	for _, c := range changes {
		if c.Field == field {
			return web.FirstLine(toText(c.New), web.MaxQuote)
		}
	}
	return ""
}

// listLength returns how many elements a list of a payload has, 0 for anything else.
func listLength(v any) int {
	list, _ := v.([]any)
	return len(list)
}

// toNumber returns a number of a payload, 0 for anything else.
func toNumber(v any) int {
	n, _ := v.(float64)
	if math.IsNaN(n) || math.Abs(n) > math.MaxInt32 {
		return 0
	}
	return int(n)
}

func progressText(changes []eventlog.Change) string {
	var parts []string
	for _, c := range changes {
		switch c.Field {
		case "progress_percent":
			text := fmt.Sprintf("%d%%", toNumber(c.New))
			if c.Old != nil {
				text += fmt.Sprintf(", was %d%%", toNumber(c.Old))
			}
			parts = append(parts, text)
		case "current_step":
			if step := toText(c.New); step != "" {
				parts = append(parts, web.FirstLine(step, web.MaxQuote))
			}
		case "checkpoint":
			parts = append(parts, "checkpoint kept")
		}
	}
	return strings.Join(parts, " · ")
}
