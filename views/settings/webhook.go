package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// WebhooksPage lists webhooks.
type WebhooksPage struct {
	Shell layout.Shell
	List  []Webhook
	Full  string // why no other one can be made, "" where one can
}

// Webhook is an address that gets events.
type Webhook struct {
	ID        string
	URL       string // whole
	Address   string // without its path
	PageURL   string
	Types     []string
	Products  []string
	State     string // "Active", "Paused", "Disabled"
	Class     string // of its pill
	Icon      string
	Why       string // what is wrong with it, "" for nothing
	Pending   string // "3 to be sent", "" for none
	Delivered ui.When
}

// WebhookPage is a webhook with its deliveries.
type WebhookPage struct {
	Shell   layout.Shell
	Webhook Webhook
	// Secret is on the answer that made it, and nowhere afterwards.
	Secret *WebhookSecret

	EditURL, TestURL, RotateURL, DeleteURL string
	PauseURL, EnableURL                    string // one of both
	FormKey                                string // of the form that rotates
	Made                                   ui.When
	By                                     string
	Rotates                                ui.When // until then two secrets sign; zero for one
	Tabs                                   []ui.Tab
	Deliveries                             []Delivery
	Empty                                  ui.Empty
	OlderURL                               string
}

// WebhookSecret is a secret with all of its text.
type WebhookSecret struct{ Title, Text, Secret string }

// Delivery is an event on its way.
type Delivery struct {
	ID, Type    string
	Job, JobURL string // "" for none
	State       string
	Class       string
	Answer      string // "200 in 45 ms", "no answer"
	Error       string
	Response    string
	Body        string
	Tries       string
	When        ui.When
	Next        ui.When // of one that is to be sent
	AgainURL    string
}

// WebhookFormPage is the form of a webhook.
type WebhookFormPage struct {
	Shell    layout.Shell
	Form     ui.Form
	Heading  string
	Action   string
	BackURL  string
	Version  string // "" of a new one
	FormKey  string
	Products []ui.Option
	Submit   string
}
