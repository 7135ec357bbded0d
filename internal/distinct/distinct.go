// Package distinct keeps authors from verifying their own work. A job that verifies work names among
// what it needs whom it must not be given to, as tokens that no factory can offer and no person can ask
// for: "!agent:ada", "!model:opus", "!provider:anthropic". Whoever decides who may have a job compares
// them with who asks, so that jobs that keep the same agents away share a lane.
package distinct

import (
	"regexp"
	"slices"
	"strings"
)

// Rule is from what whoever verifies work has to be another than its authors.
type Rule string

// The rules. Each of the later ones keeps away whom the first one does, too.
const (
	ByAgent    Rule = "agent"
	ByModel    Rule = "model"
	ByProvider Rule = "provider"
)

// Rules are all of them.
var Rules = []Rule{ByAgent, ByModel, ByProvider}

// Agent is who an agent is: its name, and the model and provider that it says. What it does not say, or
// what nobody knows, is "".
type Agent struct{ Name, Model, Provider string }

const (
	sign       = "!"
	notAgent   = "!agent:"
	notModel   = "!model:"
	notOfMaker = "!provider:"
)

// NotAgents begins each token that keeps an agent away by its name.
const NotAgents = notAgent

// Is reports whether a need keeps somebody away.
func Is(need string) bool { return strings.HasPrefix(need, sign) }

// Among returns those of some needs that keep somebody away.
func Among(needs []string) []string {
	return slices.DeleteFunc(slices.Clone(needs), func(need string) bool { return !Is(need) })
}

// Without returns the other needs; the same list where all are.
func Without(needs []string) []string {
	if !slices.ContainsFunc(needs, Is) {
		return needs
	}
	return slices.DeleteFunc(slices.Clone(needs), Is)
}

// From returns the tokens that keep authors away, sorted. The model or the provider of an author that
// nobody knows could be anybody's: under a rule that goes by it everybody is kept away.
func From(rule Rule, authors []Agent) []string {
	var list []string
	for _, a := range authors {
		list = append(list, notAgent+a.Name)
		switch rule {
		case ByModel:
			list = append(list, notModel+strings.ToLower(a.Model))
		case ByProvider:
			list = append(list, notOfMaker+strings.ToLower(a.Provider))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Passes reports whether the agent is kept away by none of some needs. One that does not say its model or
// provider is kept away where that counts, and nobody passes what is not understood.
func (a Agent) Passes(needs []string) bool {
	return !slices.ContainsFunc(needs, func(need string) bool { return Is(need) && !a.passes(need) })
}

func (a Agent) passes(need string) bool {
	kind, value, _ := strings.Cut(need, ":")
	switch kind + ":" {
	case notAgent:
		return a.Name != "" && a.Name != value
	case notModel:
		return a.Model != "" && value != "" && !isSameModel(strings.ToLower(a.Model), value)
	case notOfMaker:
		return a.Provider != "" && value != "" && strings.ToLower(a.Provider) != value
	}
	return false
}

// version ends the name of a model where it says which edition of it that is.
var version = regexp.MustCompile(`[-@]?(\d{6,8}|latest)(-v\d+(:\d+)?)?$`)

// isSameModel reports whether two names, in lower case, are of one model: with or without who hosts it,
// and with or without its edition.
func isSameModel(a, b string) bool { return shorten(a) == shorten(b) }

func shorten(model string) string {
	if at := strings.LastIndexByte(model, '/'); at >= 0 && at < len(model)-1 {
		model = model[at+1:]
	}
	return version.ReplaceAllString(model, "")
}

// Explain returns in words whom a need keeps away, "" for one that keeps nobody away.
func Explain(need string) string {
	kind, value, _ := strings.Cut(need, ":")
	switch {
	case !Is(need):
		return ""
	case kind+":" == notAgent:
		return value + " wrote the work"
	case kind+":" == notModel && value == "":
		return "the model of an author is not known"
	case kind+":" == notModel:
		return value + " wrote the work"
	case value == "":
		return "the provider of an author is not known"
	}
	return "models of " + value + " wrote the work"
}
