package budgets

import (
	"fleetboard/views/layout"
	"fleetboard/views/ui"
)

// FormPage is the form of a new budget.
type FormPage struct {
	Shell layout.Shell
	Form  Form
}

// Form is what was typed, and what of it was refused.
type Form struct {
	Name, Scope, Product, Phase, Job string
	Period, Timezone, Limit          string
	Hard                             bool
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

var raiseFields = []ui.Field{{Name: "amount_usd", Label: "Dollars more"}, {Name: "until", Label: "Until"}, {Name: "reason",
	Label: "Reason"}}

var formFields = []ui.Field{{Name: "name", Label: "Name"}, {Name: "scope", Label: "For"}, {Name: "product", Label: "Product"},
	{Name: "phase", Label: "Phase"}, {Name: "job", Label: "Job"}, {Name: "limit_usd", Label: "Limit"}, {Name: "period", Label: "Period"},
	{Name: "timezone", Label: "Time zone"}}

var scopeOptions = []ui.Option{{Value: "workspace", Label: "The workspace"}, {Value: "product", Label: "A product"},
	{Value: "milestone", Label: "A phase"}, {Value: "job", Label: "A job"}}

var periodOptions = []ui.Option{{Value: "month", Label: "Each month"}, {Value: "week", Label: "Each week"},
	{Value: "day", Label: "Each day"}, {Value: "quarter", Label: "Each quarter"}, {Value: "once", Label: "Once"}}
