package budgets

import (
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/views/ui"
)

// fields are the form of a budget.
var fields = form.Table[budgets.Input]{
	form.Line("name", "Name", budgets.MaxName, func(in *budgets.Input) *string { return &in.Name }),
	form.Choice("scope", "For", func(in *budgets.Input) *budgets.Scope { return &in.Scope }).
		Options("workspace", "The workspace", "product", "A product", "milestone", "A phase", "job", "A job"),
	form.Choice("product", "Product", func(in *budgets.Input) *string { return &in.Product }),
	form.Line("phase", "Phase", budgets.MaxPhase, func(in *budgets.Input) *string { return &in.Phase }),
	form.Line("job", "Job", 64, func(in *budgets.Input) *string { return &in.Job }),
	form.Choice("period", "Period", func(in *budgets.Input) *budgets.Period { return &in.Period }).
		Options("month", "Each month", "week", "Each week", "day", "Each day", "quarter", "Each quarter", "once", "Once"),
	form.Line("timezone", "Time zone", budgets.MaxZone, func(in *budgets.Input) *string { return &in.Timezone }),
	money("limit_usd", "Dollars", func(in *budgets.Input) **spend.Nanos { return &in.Limits.Money }),
	count("limit_tokens", "Tokens", func(in *budgets.Input) **int64 { return &in.Limits.Tokens }),
	count("limit_runs", "Runs", func(in *budgets.Input) **int64 { return &in.Limits.Runs }),
	money("slice_usd", "Reserved at a time", func(in *budgets.Input) **spend.Nanos { return &in.Slice }),
	form.Custom("alert_at", "Alerts", 80, formatAlerts, parseAlerts),
	form.Box("hard", "Hold claims and pause jobs when it is used up", func(in *budgets.Input) *bool { return &in.Hard }),
	form.Box("throttle", "Let jobs of low priority wait while it would run out before its period ends",
		func(in *budgets.Input) *bool { return &in.Throttle }),
	form.Choice("unpriced", "Models without a price", func(in *budgets.Input) *budgets.Unpriced { return &in.Unpriced }).
		Options("ask", "Hold their claims, and ask once what they count as", "hold", "Hold their claims", "allow", "Let them pass"),
}

// raiseFields are the form of a raise.
var raiseFields = form.Table[budgets.Raise]{
	amount("Dollars more", func(r *budgets.Raise) *spend.Nanos { return &r.Amount }),
	form.WriteOnly("until", "Until", 0, func(r *budgets.Raise, text string) string {
		if text == "" {
			return ""
		}
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return "It must be a day such as 2030-01-31."
		}
		end := day.AddDate(0, 0, 1) // the end of that day, in UTC
		r.Until = &end
		return ""
	}).Note("may be left out").WithKind(ui.KindDate),
	form.Line("reason", "Reason", budgets.MaxReason, func(r *budgets.Raise) *string { return &r.Reason }),
}

// transfer is a transfer and the budget that gives it.
type transfer struct {
	budgets.Transfer

	from ids.ID
}

// transferFields are the form of a transfer.
var transferFields = form.Table[transfer]{
	budget("from", "From", "Choose the budget that gives it.", func(t *transfer) *ids.ID { return &t.from }),
	budget("to", "To", "Choose the budget that gets it.", func(t *transfer) *ids.ID { return &t.To }),
	amount("Dollars", func(t *transfer) *spend.Nanos { return &t.Amount }),
	form.Line("reason", "Reason", budgets.MaxReason, func(t *transfer) *string { return &t.Reason }),
}

// budget returns a field that names one.
func budget(name, label, none string, at func(*transfer) *ids.ID) form.Field[transfer] {
	return form.WriteOnly(name, label, 0, func(t *transfer, text string) string {
		var known bool
		if *at(t), known = ids.Parse(text); !known {
			return none
		}
		return ""
	})
}

// amount returns a field of an amount of dollars that must be there.
func amount[T any](label string, at func(*T) *spend.Nanos) form.Field[T] {
	return form.WriteOnly("amount_usd", label, 40, func(v *T, text string) (why string) {
		*at(v), why = parseMoney(text)
		return why
	}).WithKind(ui.KindAmount)
}

// money returns a field of an amount of dollars that may be left out.
func money(name, label string, at func(*budgets.Input) **spend.Nanos) form.Field[budgets.Input] {
	return form.Custom(name, label, 40, func(in *budgets.Input) string {
		if n := *at(in); n != nil {
			return n.USD()
		}
		return ""
	}, func(in *budgets.Input, text string) string {
		if text == "" {
			return ""
		}
		n, why := parseMoney(text)
		*at(in) = &n
		return why
	}).WithKind(ui.KindAmount)
}

func parseMoney(text string) (n spend.Nanos, why string) {
	n, err := spend.ParseAmount("amount", strings.TrimPrefix(text, "$"), budgets.MaxMoney)
	if err != nil {
		return 0, fault.From(err).Fields["amount"]
	}
	return n, ""
}

// count returns a field of a number that people may write with commas.
func count(name, label string, at func(*budgets.Input) **int64) form.Field[budgets.Input] {
	return form.Custom(name, label, 20, func(in *budgets.Input) string {
		if n := *at(in); n != nil {
			return strconv.FormatInt(*n, 10)
		}
		return ""
	}, func(in *budgets.Input, text string) string {
		if text == "" {
			return ""
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
		if err != nil {
			return "It must be a whole number."
		}
		*at(in) = &n
		return ""
	})
}

func formatAlerts(in *budgets.Input) string {
	texts := make([]string, len(in.AlertAt))
	for i, at := range in.AlertAt {
		texts[i] = strconv.Itoa(at)
	}
	return strings.Join(texts, ", ")
}

func parseAlerts(in *budgets.Input, text string) string {
	in.AlertAt = []int{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "%")
		if part == "" {
			continue
		}
		at, err := strconv.Atoi(part)
		if err != nil {
			return "It must be whole figures with commas between, such as 50, 80, 100."
		}
		in.AlertAt = append(in.AlertAt, at)
	}
	return ""
}
