package jobform

import (
	"cmp"
	"crypto/sha256"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// enginePrefix makes a capability of an engine.
const enginePrefix = "engine:"

// notBeforeForms is how <input type="datetime-local"> writes a time, with and
// without seconds. The form says that it is UTC.
var notBeforeForms = []string{"2006-01-02T15:04", "2006-01-02T15:04:05"}

// jobForm is the form of a job as it was typed.
type jobForm struct {
	key                                  string // idempotency key
	title, body, repo, factory, engine   string
	capabilities, dependsOn, acceptance  []string
	tags                                 []string
	product, phase, priority, maxRetries string
	estimate, budget, review, notBefore  string
	dollars, complexity, tier            string
	inputs, secrets                      string // lines of NAME=value
	again                                bool   // write another one afterwards
}

// blankForm is the form with its defaults.
func blankForm() jobForm {
	return jobForm{key: ids.New().String(), priority: "5", maxRetries: "3", review: "inherit"}
}

// parseForm reads what was sent; nothing is judged yet.
func parseForm(in url.Values) jobForm {
	line := func(name string) string { return strings.TrimSpace(in.Get(name)) }
	return jobForm{
		key: line("idempotency_key"), title: line("title"), body: strings.ReplaceAll(in.Get("body"), "\r\n", "\n"),
		repo: line("repo"), factory: line("factory"), engine: line("engine"),
		capabilities: web.Distinct(in["capabilities"]), dependsOn: web.Distinct(web.SplitKeys(in["depends_on"])),
		acceptance: web.NonBlank(in["acceptance"]), tags: web.Distinct(strings.Split(in.Get("tags"), ",")),
		product: line("product"), phase: line("phase"), priority: line("priority"), maxRetries: line("max_retries"),
		estimate: line("estimated_minutes"), budget: line("token_budget"),
		dollars: line("budget_usd"), complexity: line("complexity"), tier: line("tier"), review: line("review_required"),
		notBefore: line("not_before"),
		inputs:    in.Get("inputs"), secrets: in.Get("secrets"), again: in.Get("again") != "",
	}
}

// needed are the capabilities that the job requires, the engine's included.
func (f jobForm) needed() []string {
	needed := slices.Clone(f.capabilities)
	if f.engine != "" {
		needed = append(needed, enginePrefix+f.engine)
	}
	return web.Distinct(needed)
}

// needs is what the routability preview asks the fleet.
func (f jobForm) needs() fleet.Needs {
	return fleet.Needs{Repo: f.repo, Capabilities: f.needed(), Factory: f.factory}
}

// request makes a second press of the button the same request as the first: the
// key that the form was given, "" for none, and a digest of what it says.
func (f jobForm) request() (key string, asked []byte) {
	if _, ok := ids.Parse(f.key); !ok {
		return "", nil
	}
	said := url.Values{
		"title": {f.title}, "body": {f.body}, "repo": {f.repo}, "factory": {f.factory}, "engine": {f.engine},
		"capabilities": f.capabilities, "depends_on": f.dependsOn, "acceptance": f.acceptance,
		"product": {f.product}, "phase": {f.phase}, "priority": {f.priority}, "max_retries": {f.maxRetries},
		"tags":       f.tags,
		"budget_usd": {f.dollars}, "complexity": {f.complexity}, "tier": {f.tier},
		"budget": {f.budget}, "estimate": {f.estimate}, "review": {f.review}, "not_before": {f.notBefore},
		"inputs": {f.inputs}, "secrets": {f.secrets},
	}
	sum := sha256.Sum256([]byte("form POST /jobs\n" + said.Encode()))
	return f.key, sum[:]
}

// job is what the form asks for, or what is wrong with its numbers and times by
// field. The domain judges the rest.
func (f jobForm) job() (jobs.New, map[string]string) {
	wrong := map[string]string{}
	n := jobs.New{
		Spec: jobs.Spec{Title: f.title, Body: f.body, Repo: f.repo, Phase: f.phase, Factory: f.factory,
			Capabilities: f.needed(), DependsOn: f.dependsOn, Acceptance: f.acceptance, Tags: f.tags,
			EstimatedMinutes: web.NumberChoice("estimated_minutes", f.estimate, jobs.MinEstimate, jobs.MaxEstimate, wrong),
			TokenBudget:      budgetChoice(f.budget, wrong),
			BudgetNanos:      dollarChoice(f.dollars, wrong),
			Complexity:       web.NumberChoice("complexity", f.complexity, jobs.MinComplexity, jobs.MaxComplexityStep, wrong),
			Tier:             jobs.Tier(f.tier),
			ReviewOverride:   reviewChoice(f.review, wrong),
			NotBefore:        timeChoice(f.notBefore, wrong),
		}, Product: f.product,
		Priority:   web.NumberChoice("priority", f.priority, 0, 10, wrong),
		MaxRetries: web.NumberChoice("max_retries", f.maxRetries, 0, 100, wrong),
	}
	f.setInputs(&n, wrong)
	if f.title == "" {
		wrong["title"] = "A job needs a title."
	}
	if f.engine != "" && !fault.IsCapability(enginePrefix+f.engine) {
		wrong["engine"] = "Choose one of the engines."
	}
	return n, wrong
}

func budgetChoice(text string, wrong map[string]string) *int64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < jobs.MinTokenBudget {
		wrong["token_budget"] = "A whole number of tokens, 1 or more."
		return nil
	}
	return &n
}

// dollarChoice reads an amount of dollars, 12.5 or $12.50. It takes no commas: they part
// thousands for some and cents for others.
func dollarChoice(text string, wrong map[string]string) *int64 {
	if text == "" {
		return nil
	}
	n, err := spend.ParseAmount("budget_usd", strings.TrimPrefix(text, "$"), spend.MaxAmount)
	if err != nil || n < jobs.MinBudgetNanos {
		wrong["budget_usd"] = "An amount of dollars like 12.50, more than 0."
		return nil
	}
	amount := int64(n)
	return &amount
}

func reviewChoice(text string, wrong map[string]string) *bool {
	yes := text == "yes"
	switch text {
	case "", "inherit":
		return nil
	case "yes", "no":
		return &yes
	default:
		wrong["review_required"] = "Choose one of the three."
		return nil
	}
}

func timeChoice(text string, wrong map[string]string) *time.Time {
	if text == "" {
		return nil
	}
	for _, form := range notBeforeForms {
		if at, err := time.Parse(form, text); err == nil && at.Year() >= 2000 && at.Year() < 2200 {
			return &at
		}
	}
	wrong["not_before"] = "Write a day and a time, such as 2030-01-31T18:00."
	return nil
}

// fieldErrors turns the fields of a fault into those of the form: of
// capabilities[2] the form shows capabilities, and its inputs and secrets have
// names of their own. What belongs to no field of the
// form is the second result.
func (f jobForm) fieldErrors(err error) (byField map[string]string, rest string) {
	byField = map[string]string{}
	known := []string{"title", "body", "repo", "factory", "capabilities", "depends_on", "acceptance", "product",
		"phase", "priority", "max_retries", "estimated_minutes", "token_budget", "budget_usd", "complexity", "tier", "review_required",
		"not_before", "tags",
		"inputs", "secrets"}
	own := map[string]string{"input_context": "inputs", "secret_keys": "secrets"}
	for field, text := range fault.From(err).Fields {
		name, _, _ := strings.Cut(field, "[")
		name = cmp.Or(own[name], name)
		if !slices.Contains(known, name) {
			rest = text
			continue
		}
		if _, taken := byField[name]; !taken {
			byField[name] = text
		}
	}
	return byField, rest
}
