package transcript

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"time"
)

const anthropic = "anthropic"

// claude reads the output of Claude Code.
type claude struct {
	run      Run
	session  string
	main     string // the model that the run was started with, as it names it itself
	messages map[string]*message
	result   *claudeResult
}

// message is what a message has used at most, as its lines say.
type message struct {
	model string // "" is that of the run
	used  meters
}

type meters struct{ input, cacheRead, cacheWrite, cacheWrite1h, output int64 }

func (m meters) plus(o meters) meters {
	return meters{m.input + o.input, m.cacheRead + o.cacheRead, m.cacheWrite + o.cacheWrite, m.cacheWrite1h + o.cacheWrite1h,
		m.output + o.output}
}

func (m meters) atLeast(o meters) meters {
	return meters{max(m.input, o.input), max(m.cacheRead, o.cacheRead), max(m.cacheWrite, o.cacheWrite),
		max(m.cacheWrite1h, o.cacheWrite1h), max(m.output, o.output)}
}

type claudeUsage struct {
	Input         int64 `json:"input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	Creation      struct {
		OneHour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output int64 `json:"output_tokens"`
}

func (u claudeUsage) meters() meters {
	return meters{u.Input, u.CacheRead, u.CacheCreation - u.Creation.OneHour, u.Creation.OneHour, u.Output}
}

// claudeResult is the last line.
type claudeResult struct {
	Usage      claudeUsage `json:"usage"` // without what subagents used
	ModelUsage map[string]struct {
		Input         int64       `json:"inputTokens"`
		Output        int64       `json:"outputTokens"`
		CacheRead     int64       `json:"cacheReadInputTokens"`
		CacheCreation int64       `json:"cacheCreationInputTokens"`
		Cost          json.Number `json:"costUSD"`
	} `json:"modelUsage"`
}

// ClaudeCode returns the translator for a run of Claude Code.
func ClaudeCode(run Run) Translator { return &claude{run: run, messages: map[string]*message{}} }

// Line reads a line.
func (c *claude) Line(line []byte, at time.Time) []Entry {
	var l struct {
		claudeResult

		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Session string `json:"session_id"`
		Model   string `json:"model"`
		Parent  string `json:"parent_tool_use_id"`
		Message struct {
			ID    string       `json:"id"`
			Model string       `json:"model"`
			Usage *claudeUsage `json:"usage"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	switch {
	case l.Type == "system" && l.Subtype == "init":
		c.session, c.main = l.Session, l.Model
	case l.Type == "assistant" && l.Message.Usage != nil && l.Message.ID != "":
		c.session = l.Session
		m := c.messages[l.Message.ID]
		if m == nil {
			m = &message{}
			c.messages[l.Message.ID] = m
		}
		if l.Parent != "" {
			m.model = l.Message.Model
		}
		m.used = m.used.atLeast(l.Message.Usage.meters())
	case l.Type == "result":
		c.session = l.Session
		c.result = &l.claudeResult
		return nil
	default:
		return nil
	}
	return c.entries(c.running(), nil, at)
}

// End returns the totals of the last line, or where there was none those of the messages.
func (c *claude) End(at time.Time) []Entry {
	running := c.running()
	if c.result == nil {
		return c.entries(running, nil, at)
	}
	totals, costs := map[string]meters{}, map[string]string{}
	for name, u := range c.result.ModelUsage {
		model := plain(name)
		// How many of the tokens were written for an hour stands in the messages, and for
		// the run's own model in the result, too.
		oneHour := running[model].cacheWrite1h
		if model == plain(c.main) {
			oneHour = max(oneHour, c.result.Usage.Creation.OneHour)
		}
		oneHour = min(oneHour, u.CacheCreation)
		totals[model] = totals[model].plus(meters{u.Input, u.CacheRead, u.CacheCreation - oneHour, oneHour, u.Output})
		costs[model] = dollars(u.Cost.String())
	}
	return c.entries(totals, costs, at)
}

// running returns what the messages have used up to now, by model. Those of the run's own
// model have to wait until its name is known.
func (c *claude) running() map[string]meters {
	sums := map[string]meters{}
	for _, m := range c.messages {
		model := m.model
		if model == "" {
			model = c.main
		}
		if model != "" {
			sums[plain(model)] = sums[plain(model)].plus(m.used)
		}
	}
	return sums
}

func (c *claude) entries(sums map[string]meters, costs map[string]string, at time.Time) []Entry {
	list := make([]Entry, 0, len(sums))
	for _, model := range slices.Sorted(maps.Keys(sums)) {
		u := sums[model]
		id := "claude-code:" + c.session + ":" + c.run.ID + ":" + model
		list = append(list, Entry{ID: id, Provider: anthropic, Model: model, Session: c.session,
			Input: u.input, CacheRead: u.cacheRead, CacheWrite: u.cacheWrite, CacheWrite1h: u.cacheWrite1h, Output: u.output,
			Cost: costs[model], At: at})
	}
	return list
}

// variant is what Claude Code adds to the name of a model: the size of its context, such as
// "[1m]"; and the provider: the day of its release.
var variant = regexp.MustCompile(`(-\d{8})?(\[[^\]]*\])?$`)

// plain returns the name that a model has on each line.
func plain(model string) string { return variant.ReplaceAllString(model, "") }
