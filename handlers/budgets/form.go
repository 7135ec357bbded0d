package budgets

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	view "github.com/fleetboard/fleetboard/views/budgets"
)

// form is what was typed about a budget.
type form view.Form

func parseForm(typed url.Values) form {
	get := func(name string) string { return strings.TrimSpace(typed.Get(name)) }
	return form{Name: get("name"), Scope: get("scope"), Product: get("product"), Phase: get("phase"), Job: get("job"),
		Version: get("version"), Period: get("period"), Timezone: get("timezone"), Limit: get("limit_usd"),
		Tokens: get("limit_tokens"), Runs: get("limit_runs"),
		Slice: get("slice_usd"), Alerts: get("alert_at"), Hard: get("hard") == "1", Throttle: get("throttle") == "1",
		Unpriced: get("unpriced")}
}

// figures are what was typed as numbers.
type figures struct {
	limits budgets.Limits
	slice  *spend.Nanos
	alerts []int
}

// figures reads the numbers of a form, and says what of it is none, by field.
func (f form) figures() (n figures, wrong map[string]string) {
	wrong = map[string]string{}
	money := func(field, text string) *spend.Nanos {
		if text == "" {
			return nil
		}
		amount, err := spend.ParseAmount(field, strings.TrimPrefix(text, "$"), budgets.MaxMoney)
		if err != nil {
			wrong[field] = fault.From(err).Fields[field]
		}
		return &amount
	}
	whole := func(field, text string) *int64 {
		if text == "" {
			return nil
		}
		count, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
		if err != nil {
			wrong[field] = "It must be a whole number."
		}
		return &count
	}
	n.limits = budgets.Limits{Money: money("limit_usd", f.Limit), Tokens: whole("limit_tokens", f.Tokens),
		Runs: whole("limit_runs", f.Runs)}
	n.slice, n.alerts = money("slice_usd", f.Slice), []int{}
	for text := range strings.SplitSeq(f.Alerts, ",") {
		text = strings.TrimSuffix(strings.TrimSpace(text), "%")
		if text == "" {
			continue
		}
		at, err := strconv.Atoi(text)
		if err != nil {
			wrong["alert_at"] = "It must be whole figures with commas between, such as 50, 80, 100."
		}
		n.alerts = append(n.alerts, at)
	}
	return n, wrong
}

// input is the budget that a form describes, and what of it is wrong, by field.
func (f form) input() (budgets.Input, map[string]string) {
	n, wrong := f.figures()
	return budgets.Input{Name: f.Name, Scope: budgets.Scope(f.Scope), Product: f.Product, Phase: f.Phase, Job: f.Job,
		Period: budgets.Period(f.Period), Timezone: f.Timezone, Limits: n.limits, Slice: n.slice, AlertAt: n.alerts, Hard: f.Hard,
		Throttle: f.Throttle, Unpriced: budgets.Unpriced(f.Unpriced)}, wrong
}

// patch is the change that a form describes, and what of it is wrong, by field. The slice
// stays where nothing is typed.
func (f form) patch() (budgets.Patch, map[string]string) {
	n, wrong := f.figures()
	version, err := strconv.Atoi(f.Version)
	if err != nil {
		wrong["version"] = "The form is broken: open it again."
	}
	return budgets.Patch{Version: &version, Name: &f.Name, Money: budgets.Ceiling[spend.Nanos]{Set: true, Value: n.limits.Money},
		Tokens: budgets.Ceiling[int64]{Set: true, Value: n.limits.Tokens}, Runs: budgets.Ceiling[int64]{Set: true, Value: n.limits.Runs},
		Hard: &f.Hard, Slice: n.slice, AlertAt: &n.alerts, Throttle: &f.Throttle,
		Unpriced: parseUnpriced(f.Unpriced)}, wrong
}

// parseUnpriced is what was chosen of models without a price; nil, which changes nothing, where
// the form did not ask.
func parseUnpriced(text string) *budgets.Unpriced {
	if text == "" {
		return nil
	}
	u := budgets.Unpriced(text)
	return &u
}

// fillForm is the form of a budget as it is.
func fillForm(b budgets.Budget) form {
	f := form{Name: b.Name, Version: strconv.Itoa(b.Version), Slice: b.Slice.USD(), Hard: b.Hard, Throttle: b.Throttle,
		Unpriced: string(b.Unpriced)}
	if b.Limits.Money != nil {
		f.Limit = b.Limits.Money.USD()
	}
	for text, limit := range map[*string]*int64{&f.Tokens: b.Limits.Tokens, &f.Runs: b.Limits.Runs} {
		if limit != nil {
			*text = strconv.FormatInt(*limit, 10)
		}
	}
	var alerts []string
	for _, at := range b.AlertAt {
		alerts = append(alerts, strconv.Itoa(at))
	}
	f.Alerts = strings.Join(alerts, ", ")
	return f
}

// toFormFields are refused fields as the form has them: a list is one field.
func toFormFields(refused map[string]string) map[string]string {
	fields := make(map[string]string, len(refused))
	for name, problem := range refused {
		name, _, _ = strings.Cut(name, "[")
		fields[name] = problem
	}
	return fields
}
