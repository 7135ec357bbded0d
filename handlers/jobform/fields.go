package jobform

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/views/ui"
)

// enginePrefix makes a capability of an engine.
const enginePrefix = "engine:"

// notBeforeForms is how <input type="datetime-local"> writes a time, with and
// without seconds. The form says that it is UTC.
var notBeforeForms = []string{"2006-01-02T15:04", "2006-01-02T15:04:05"}

// maxFiles is how many characters of files a browser takes.
const maxFiles = 20_000

// fields are the form of a job.
var fields = form.Table[jobs.New]{
	form.Line("title", "Title", jobs.MaxTitle, func(n *jobs.New) *string { return &n.Title }).Check(func(n *jobs.New) string {
		if n.Title == "" {
			return "A job needs a title."
		}
		return ""
	}),
	form.Text("body", "Description", jobs.MaxBody, func(n *jobs.New) *string { return &n.Body }),
	form.Choice("repo", "Repo", func(n *jobs.New) *string { return &n.Repo }),
	form.Choice("factory", "Factory", func(n *jobs.New) *string { return &n.Factory }),
	form.Custom("engine", "Engine", 0, engine, func(n *jobs.New, text string) string {
		if text == "" {
			return ""
		}
		if n.Capabilities = []string{enginePrefix + text}; !fault.IsCapability(enginePrefix + text) {
			return "Choose one of the engines."
		}
		return ""
	}),
	form.List("capabilities", "Capabilities", web.Distinct,
		func(n *jobs.New) []string { return without(n.Capabilities, enginePrefix+engine(n)) },
		func(n *jobs.New, list []string) { n.Capabilities = web.Distinct(slices.Concat(list, n.Capabilities)) }),
	form.EachLine("files", "Files", maxFiles, func(n *jobs.New) *[]string { return &n.Files }).Note("paths and globs, one a line"),
	form.List("depends_on", "Depends on", func(in []string) []string { return web.Distinct(web.SplitKeys(in)) },
		func(n *jobs.New) []string { return n.DependsOn }, func(n *jobs.New, keys []string) { n.DependsOn = keys }).Focus("dep"),
	form.List("acceptance", "Acceptance criteria", web.NonBlank, func(n *jobs.New) []string { return n.Acceptance },
		func(n *jobs.New, list []string) { n.Acceptance = list }).Focus("criteria"),
	form.WriteOnly("inputs", "Inputs", maxInputs, setInputs).Lines().Note("one NAME=value a line").Also("input_context"),
	form.WriteOnly("secrets", "Secrets", maxInputs, setSecrets).Lines().Note("one NAME=value a line").Also("secret_keys"),
	form.Choice("product", "Product", func(n *jobs.New) *string { return &n.Product }),
	form.Line("phase", "Phase", jobs.MaxName, func(n *jobs.New) *string { return &n.Phase }),
	form.Number("priority", "Priority", 0, jobs.MaxPriority, func(n *jobs.New) **int { return &n.Priority }).WithKind(ui.KindNumber),
	form.Number("max_retries", "Retries", 0, jobs.MaxTries, func(n *jobs.New) **int { return &n.MaxRetries }).WithKind(ui.KindNumber),
	form.Number("estimated_minutes", "Estimate", jobs.MinEstimate, jobs.MaxEstimate,
		func(n *jobs.New) **int { return &n.EstimatedMinutes }).WithKind(ui.KindWhole),
	form.Custom("budget_usd", "Budget", 40, func(n *jobs.New) string {
		if n.BudgetNanos == nil {
			return ""
		}
		return spend.Nanos(*n.BudgetNanos).USD()
	}, setDollars).WithKind(ui.KindAmount),
	form.Custom("token_budget", "Token budget", 19, func(n *jobs.New) string {
		if n.TokenBudget == nil {
			return ""
		}
		return strconv.FormatInt(*n.TokenBudget, 10)
	}, setTokens).WithKind(ui.KindWhole),
	form.Number("complexity", "Complexity", jobs.MinComplexity, jobs.MaxComplexityStep, func(n *jobs.New) **int { return &n.Complexity }).
		Options("", "Not said", "1", "1, trivial", "2", "2, easy", "3", "3, usual", "4", "4, hard", "5", "5, very hard"),
	form.Choice("tier", "Model size", func(n *jobs.New) *jobs.Tier { return &n.Tier }).
		Options("", "As the estimate says", "small", "Small", "standard", "Standard", "large", "Large"),
	form.Custom("review_required", "Review", 0, func(n *jobs.New) string {
		if n.ReviewOverride == nil {
			return "inherit"
		}
		return map[bool]string{true: "yes", false: "no"}[*n.ReviewOverride]
	}, setReview).Options("inherit", "As the product says", "yes", "A person approves", "no", "Not needed"),
	form.Custom("not_before", "Not before", 0, func(n *jobs.New) string {
		if n.NotBefore == nil {
			return ""
		}
		return ui.FieldMoment(*n.NotBefore)
	}, setNotBefore).WithKind(ui.KindMoment).Note("UTC"),
	form.Commas("tags", "Tags", 1400, func(n *jobs.New) *[]string { return &n.Tags }).Note("with commas between"),
}

// needs are the fields that say who may claim the job.
var needs = []string{"repo", "factory", "engine", "capabilities"}

// eventNames are the fields that the events of a job call otherwise.
var eventNames = map[string]string{"engine": "capabilities", "depends_on": "link", "budget_usd": "budget_nanos"}

// fill returns the form of a job as it is.
func fill(j jobs.Job) ui.Form {
	return fields.Fill(jobs.New{Spec: j.Spec, Product: j.Product, Priority: &j.Priority, MaxRetries: &j.MaxRetries})
}

// draft returns the job that a form describes, without what of it makes no sense yet.
func draft(f ui.Form) jobs.New {
	n, _ := fields.Value(f)
	return n
}

// engine returns the first engine that the job needs, "" for none.
func engine(n *jobs.New) string {
	for _, token := range n.Capabilities {
		if name, is := strings.CutPrefix(token, enginePrefix); is {
			return name
		}
	}
	return ""
}

func without(list []string, token string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == token })
}

func setTokens(n *jobs.New, text string) string {
	if text == "" {
		return ""
	}
	tokens, err := strconv.ParseInt(text, 10, 64)
	if err != nil || tokens < jobs.MinTokenBudget {
		return "A whole number of tokens, 1 or more."
	}
	n.TokenBudget = &tokens
	return ""
}

// setDollars reads an amount of dollars, 12.5 or $12.50. It takes no commas: they part
// thousands for some and cents for others.
func setDollars(n *jobs.New, text string) string {
	if text == "" {
		return ""
	}
	nanos, err := spend.ParseAmount("budget_usd", strings.TrimPrefix(text, "$"), spend.MaxAmount)
	if err != nil || nanos < jobs.MinBudgetNanos {
		return "An amount of dollars like 12.50, more than 0."
	}
	amount := int64(nanos)
	n.BudgetNanos = &amount
	return ""
}

func setReview(n *jobs.New, text string) string {
	switch text {
	case "", "inherit":
		return ""
	case "yes", "no":
		yes := text == "yes"
		n.ReviewOverride = &yes
		return ""
	default:
		return "Choose one of the three."
	}
}

func setNotBefore(n *jobs.New, text string) string {
	if text == "" {
		return ""
	}
	for _, layout := range notBeforeForms {
		if at, err := time.Parse(layout, text); err == nil && at.Year() >= 2000 && at.Year() < 2200 {
			n.NotBefore = &at
			return ""
		}
	}
	return "Write a day and a time, such as 2030-01-31T18:00."
}
