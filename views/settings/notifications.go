package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// NotificationsPage is what a person is told of, where and when.
type NotificationsPage struct {
	Shell    layout.Shell
	Form     ui.Form
	Kinds    []NotificationKind
	Members  []ui.Option
	Zones    []string
	Secret   string // of the person's webhook, "" without one
	Channels []NotificationChannel
	Browsers []NotificationBrowser
	PushKey  string
	NoMail   bool // the server sends none
	AnyOn    bool // a channel is switched on
}

// NotificationKind is a kind, and what it is.
type NotificationKind struct {
	Field, Help string
}

// NotificationChannel is a channel whose messages do not arrive.
type NotificationChannel struct {
	Name  string
	Since ui.When // that it fails
	Why   string
}

// NotificationBrowser is a browser that shows messages.
type NotificationBrowser struct {
	ID, Name string
	Since    ui.When
	Outdated bool
}
