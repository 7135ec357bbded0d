package notifications

import (
	"slices"
	"time"

	// Servers may lack a database of time zones.
	_ "time/tzdata"

	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Kind is a sort of decision.
type Kind string

// The kinds.
const (
	Review    Kind = "review"
	Question  Kind = "question"
	Failed    Kind = "failed"
	Budget    Kind = "budget"
	AgentDead Kind = "agent_dead"
	Stopped   Kind = "stopped"
)

// Kinds are all of them, in their order on the page.
var Kinds = []Kind{Review, Question, Failed, Budget, AgentDead, Stopped}

// needed is the permission that a decision of a kind needs.
var needed = map[Kind]tenancy.Permission{Review: tenancy.WriteJobs, Question: tenancy.AnswerQuestions, Failed: tenancy.WriteJobs,
	Budget: tenancy.Manage, AgentDead: tenancy.RunFleet, Stopped: tenancy.Manage}

// Decides reports whether members of a role decide on a kind.
func Decides(role tenancy.Role, kind Kind) bool {
	return tenancy.Principal{Kind: tenancy.KindPerson, Role: role}.Can(needed[kind])
}

// Channel is a way to a person.
type Channel string

// The channels.
const (
	Browser Channel = "browser"
	Email   Channel = "email"
	Webhook Channel = "webhook"
)

// Channels are all of them.
var Channels = []Channel{Browser, Email, Webhook}

const (
	// MaxDigestMinutes is a day.
	MaxDigestMinutes = 24 * 60
	// MaxEscalateMinutes is a week.
	MaxEscalateMinutes = 7 * 24 * 60
	// MaxURL bounds the address of a webhook, in characters.
	MaxURL = address.MaxLength
	// MaxBrowsers is how many browsers a person has in a workspace; the oldest gives way.
	MaxBrowsers = 10
)

// Via are the channels that a person uses.
type Via struct {
	Browser bool `json:"browser"`
	Email   bool `json:"email"`
	Webhook bool `json:"webhook"`
}

// On are the kinds of which a person is told.
type On struct {
	Review    bool `json:"review"`
	Question  bool `json:"question"`
	Failed    bool `json:"failed"`
	Budget    bool `json:"budget"`
	AgentDead bool `json:"agent_dead"`
	Stopped   bool `json:"stopped"`
}

// Quiet are hours in which a person is told nothing, "22:00" to "07:00"; none where both are "".
type Quiet struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Timezone string `json:"timezone"`
}

// Escalation is who is told of what is still open after some minutes, by e-mail address; nobody where
// it is "" and 0.
type Escalation struct {
	Minutes int    `json:"minutes"`
	To      string `json:"to"`
}

// Settings is what a person wants to be told of in a workspace, where and when.
type Settings struct {
	Channels      Via        `json:"channels"`
	On            On         `json:"on"`
	QuietHours    Quiet      `json:"quiet_hours"`
	DigestMinutes int        `json:"digest_minutes"`
	Escalate      Escalation `json:"escalate"`
	// WebhookURL is where the person's own webhook is, WebhookSecret what its messages are signed
	// with, made by the server for that address.
	WebhookURL    string `json:"webhook_url"`
	WebhookSecret string `json:"webhook_secret,omitempty"`
}

// Change is what is changed of Settings; nil stays as it is.
type Change struct {
	Channels      *ViaChange  `json:"channels,omitempty"`
	On            *OnChange   `json:"on,omitempty"`
	QuietHours    *Quiet      `json:"quiet_hours,omitempty"`
	DigestMinutes *int        `json:"digest_minutes,omitempty"`
	Escalate      *Escalation `json:"escalate,omitempty"`
	WebhookURL    *string     `json:"webhook_url,omitempty"`
}

// ViaChange is what is changed of the channels.
type ViaChange struct {
	Browser *bool `json:"browser,omitempty"`
	Email   *bool `json:"email,omitempty"`
	Webhook *bool `json:"webhook,omitempty"`
}

// OnChange is what is changed of the kinds.
type OnChange struct {
	Review    *bool `json:"review,omitempty"`
	Question  *bool `json:"question,omitempty"`
	Failed    *bool `json:"failed,omitempty"`
	Budget    *bool `json:"budget,omitempty"`
	AgentDead *bool `json:"agent_dead,omitempty"`
	Stopped   *bool `json:"stopped,omitempty"`
}

// Default returns the settings of a person who has saved none: all kinds, by no channel.
func Default() Settings {
	return Settings{On: On{true, true, true, true, true, true}, QuietHours: Quiet{Timezone: "UTC"}}
}

func (c Change) apply(s Settings) Settings {
	if v := c.Channels; v != nil {
		set(&s.Channels.Browser, v.Browser)
		set(&s.Channels.Email, v.Email)
		set(&s.Channels.Webhook, v.Webhook)
	}
	if v := c.On; v != nil {
		set(&s.On.Review, v.Review)
		set(&s.On.Question, v.Question)
		set(&s.On.Failed, v.Failed)
		set(&s.On.Budget, v.Budget)
		set(&s.On.AgentDead, v.AgentDead)
		set(&s.On.Stopped, v.Stopped)
	}
	set(&s.QuietHours, c.QuietHours)
	set(&s.DigestMinutes, c.DigestMinutes)
	set(&s.Escalate, c.Escalate)
	set(&s.WebhookURL, c.WebhookURL)
	if s.QuietHours.Timezone == "" {
		s.QuietHours.Timezone = "UTC"
	}
	return s
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// list returns the channels that are used.
func (v Via) list() []Channel {
	return chosen(Channels, v.Browser, v.Email, v.Webhook)
}

// list returns the kinds that are told of.
func (o On) list() []Kind {
	return chosen(Kinds, o.Review, o.Question, o.Failed, o.Budget, o.AgentDead, o.Stopped)
}

func chosen[T any](all []T, yes ...bool) []T {
	list := []T{}
	for i, one := range all {
		if yes[i] {
			list = append(list, one)
		}
	}
	return list
}

func readVia(list []Channel) Via {
	has := func(c Channel) bool { return slices.Contains(list, c) }
	return Via{has(Browser), has(Email), has(Webhook)}
}

func readOn(list []Kind) On {
	has := func(k Kind) bool { return slices.Contains(list, k) }
	return On{has(Review), has(Question), has(Failed), has(Budget), has(AgentDead), has(Stopped)}
}

// person is a member as Look and Send see one.
type person struct {
	account  ids.ID
	name     string
	email    string
	role     tenancy.Role
	disabled bool // decides nothing now
	channels []Channel
	kinds    []Kind
	quiet    quiet
	digest   time.Duration
	escalate time.Duration
	next     *ids.ID // who is told after escalate
}
