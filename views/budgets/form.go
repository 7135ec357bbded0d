package budgets

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// FormPage is the form of a budget.
type FormPage struct {
	Shell  layout.Shell
	Title  string
	Form   Form
	Remove *ui.Action // nil for a new one
}

// Form is what was typed, and what of it was refused.
type Form struct {
	URL, Back, Submit                string
	Fixed                            []Fact // what an edit leaves as it is; then the fields of it are not shown
	Version                          string
	Name, Scope, Product, Phase, Job string
	Period, Timezone                 string
	Limit, Tokens, Runs              string
	Slice, Alerts                    string
	Hard, Throttle                   bool
	Unpriced                         string // what it does with models without a price
	Products, Phases                 []string
	Error                            string
	Errors                           map[string]string
}

// RaisePage is the form of a raise.
type RaisePage struct {
	Shell layout.Shell
	Name  string // of the budget
	Form  Raise
}

// Raise is what was typed, and what of it was refused.
type Raise struct {
	URL, Back, Stands     string // "$3.00 of $250.00 is free."
	Amount, Until, Reason string
	Errors                map[string]string
}

// TransferPage is the form of a transfer.
type TransferPage struct {
	Shell layout.Shell
	Form  Transfer
}

// Transfer is what was typed, and what of it was refused.
type Transfer struct {
	From, To, Amount, Reason string
	Givers, Takers           []ui.Option
	Errors                   map[string]string
}

var raiseFields = []ui.Field{{Name: "amount_usd", Label: "Dollars more"}, {Name: "until", Label: "Until"}, {Name: "reason",
	Label: "Reason"}}

var transferFields = []ui.Field{{Name: "from", Label: "From"}, {Name: "to", Label: "To"},
	{Name: "amount_usd", Label: "Dollars"}, {Name: "reason", Label: "Reason"}}

var formFields = []ui.Field{{Name: "name", Label: "Name"}, {Name: "scope", Label: "For"}, {Name: "product", Label: "Product"},
	{Name: "phase", Label: "Phase"}, {Name: "job", Label: "Job"}, {Name: "limit_usd", Label: "Dollars"},
	{Name: "limit_tokens", Label: "Tokens"}, {Name: "limit_runs", Label: "Runs"}, {Name: "period", Label: "Period"},
	{Name: "timezone", Label: "Time zone"}, {Name: "slice_usd", Label: "Reserved at a time"}, {Name: "alert_at", Label: "Alerts"},
	{Name: "unpriced", Label: "Models without a price"}}

var scopeOptions = []ui.Option{{Value: "workspace", Label: "The workspace"}, {Value: "product", Label: "A product"},
	{Value: "milestone", Label: "A phase"}, {Value: "job", Label: "A job"}}

var periodOptions = []ui.Option{{Value: "month", Label: "Each month"}, {Value: "week", Label: "Each week"},
	{Value: "day", Label: "Each day"}, {Value: "quarter", Label: "Each quarter"}, {Value: "once", Label: "Once"}}

var unpricedOptions = []ui.Option{{Value: "ask", Label: "Hold their claims, and ask once what they count as"},
	{Value: "hold", Label: "Hold their claims"}, {Value: "allow", Label: "Let them pass"}}

// zones are suggested; each zone of the IANA's list may be typed.
var zones = []string{"UTC", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo",
	"Asia/Dubai", "Asia/Kolkata", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo", "Australia/Sydney", "Europe/Berlin",
	"Europe/Helsinki", "Europe/London", "Europe/Madrid", "Europe/Paris", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland"}

func productOptions(names []string) []ui.Option {
	list := []ui.Option{{Label: "None"}}
	for _, name := range names {
		list = append(list, ui.Option{Value: name, Label: name})
	}
	return list
}
