package budgets

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// FormPage is the form of a budget.
type FormPage struct {
	Shell             layout.Shell
	Title             string
	URL, Back, Submit string
	Fixed             []Fact // what an edit leaves as it is; then the fields of it are not shown
	Version           string
	Products          []ui.Option
	Phases            []string // that are suggested
	Form              ui.Form
	Remove            *ui.Action // nil for a new one
}

// RaisePage is the form of a raise.
type RaisePage struct {
	Shell             layout.Shell
	Name              string // of the budget
	URL, Back, Stands string // "$3.00 of $250.00 is free."
	Form              ui.Form
}

// TransferPage is the form of a transfer.
type TransferPage struct {
	Shell          layout.Shell
	Form           ui.Form
	Givers, Takers []ui.Option
}

// zones are suggested; each zone of the IANA's list may be typed.
var zones = []string{"UTC", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo",
	"Asia/Dubai", "Asia/Kolkata", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo", "Australia/Sydney", "Europe/Berlin",
	"Europe/Helsinki", "Europe/London", "Europe/Madrid", "Europe/Paris", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland"}
