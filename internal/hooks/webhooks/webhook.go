package webhooks

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Limits of a webhook.
const (
	// MaxWebhooks is how many a workspace has.
	MaxWebhooks = 20
	// MaxURL bounds an address, in characters.
	MaxURL = address.MaxLength
	// MaxTypes and MaxProducts bound the lists of a webhook.
	MaxTypes    = 100
	MaxProducts = 100
	maxProduct  = 64
	// MaxOverlap bounds how long two secrets sign, in hours; DefaultOverlap is how long they usually do.
	MaxOverlap     = 168
	DefaultOverlap = 24
)

// State says whether events are sent.
type State string

// The states; see the package.
const (
	Active   State = "active"
	Paused   State = "paused"
	Disabled State = "disabled"
)

// Reason is why the server has disabled a webhook.
type Reason string

// The reasons.
const (
	Gone    Reason = "gone"    // the receiver answered 410
	Failing Reason = "failing" // the last retry has failed
)

// Webhook is an address to which events are sent.
type Webhook struct {
	ID       ids.ID   `json:"id"`
	URL      string   `json:"url"`
	Types    []string `json:"types"`    // exact, or a family: "job.*"; "*" is all
	Products []string `json:"products"` // by name; none is all events, also those of no job
	State    State    `json:"state"`
	// DisabledReason and DisabledAt are of a disabled one.
	DisabledReason Reason     `json:"disabled_reason,omitempty"`
	DisabledAt     *time.Time `json:"disabled_at,omitempty"`
	// RotatesUntil is until when the secret before the last rotation signs, too.
	RotatesUntil *time.Time `json:"rotates_until,omitempty"`
	Pending      int        `json:"pending"` // deliveries that are to be sent
	Seq          int64      `json:"seq"`     // of the last event that a delivery was made of
	// FailingSince is since when nothing was delivered though it was tried.
	FailingSince *time.Time `json:"failing_since,omitempty"`
	DeliveredAt  *time.Time `json:"delivered_at,omitempty"`
	CreatedBy    string     `json:"created_by"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
	Version      int        `json:"version"`
}

// New is a webhook to be made. Without types it gets all.
type New struct {
	URL      string
	Types    []string
	Products []string
	// Secret is the text of a secret that the receiver has already; "" has one made.
	Secret string
}

// Change is what a person changes; nil leaves a field as it is.
type Change struct {
	URL      *string
	Types    *[]string
	Products *[]string
	State    *State // Active or Paused
	// SkipBacklog leaves out what was not delivered so far.
	SkipBacklog bool
	Version     int
}

func (c Change) apply(w *Webhook) {
	if c.URL != nil {
		w.URL = *c.URL
	}
	if c.Types != nil {
		w.Types = *c.Types
	}
	if c.Products != nil {
		w.Products = *c.Products
	}
	if c.State != nil {
		w.State = *c.State
	}
	w.normalise()
}

// normalise puts the lists into their stored form.
func (w *Webhook) normalise() {
	if len(w.Types) == 0 || slices.Contains(w.Types, everything) {
		w.Types = []string{everything}
	}
	w.Types = sorted(w.Types)
	w.Products = sorted(w.Products)
}

func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return slices.Compact(list)
}

// everything is the type that all events have.
const everything = "*"

// check refuses what no webhook can have; its address is checked apart.
func (w *Webhook) check() error {
	p := fault.Problems{}
	p.List("types", w.Types, MaxTypes, maxProduct)
	p.List("products", w.Products, MaxProducts, maxProduct)
	if w.State != Active && w.State != Paused {
		p.Add("state", "It must be active or paused.")
	}
	if err := p.Err(); err != nil {
		return err
	}
	if slices.Equal(w.Types, []string{everything}) {
		return nil
	}
	return eventlog.CheckTypes("types", w.Types)
}

// differ returns what a change changes, as the log has it.
func differ(old, now Webhook) (changes []eventlog.Change) {
	if old.URL != now.URL {
		changes = append(changes, eventlog.Change{Field: "url", Old: address.Shown(old.URL), New: address.Shown(now.URL)})
	}
	if !slices.Equal(old.Types, now.Types) {
		changes = append(changes, eventlog.Change{Field: "types", Old: old.Types, New: now.Types})
	}
	if !slices.Equal(old.Products, now.Products) {
		changes = append(changes, eventlog.Change{Field: "products", Old: old.Products, New: now.Products})
	}
	if old.State != now.State {
		changes = append(changes, eventlog.Change{Field: "state", Old: old.State, New: now.State})
	}
	return changes
}

// facts is what the log says of a webhook beside its changes.
func (w *Webhook) facts() map[string]any {
	return map[string]any{"webhook": w.ID, "url": address.Shown(w.URL)}
}

func noWebhook(id ids.ID) error {
	return fault.New(fault.NotFound, "There is no webhook %s in this workspace.", id)
}

// checkVersion refuses a change of an older version than the present one.
func checkVersion(w Webhook, version int) error {
	if version != w.Version {
		return fault.New(fault.VersionConflict, "Somebody else has changed the webhook meanwhile.").
			With("version", fmt.Sprint(w.Version))
	}
	return nil
}
