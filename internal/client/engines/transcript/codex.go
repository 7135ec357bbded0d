package transcript

import (
	"encoding/json"
	"time"
)

// codex reads the output of Codex.
type codex struct {
	run    Run
	thread string
	used   *codexUsage // of the whole thread
}

type codexUsage struct {
	Input      int64 `json:"input_tokens"` // all, also of the cache
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"` // with those of reasoning
}

// Codex returns the translator for a run of Codex.
func Codex(run Run) Translator { return &codex{run: run} }

// Line reads a line.
func (c *codex) Line(line []byte, at time.Time) []Entry {
	var l struct {
		Type   string      `json:"type"`
		Thread string      `json:"thread_id"`
		Usage  *codexUsage `json:"usage"`
	}
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	switch {
	case l.Type == "thread.started":
		c.thread = l.Thread
	case l.Type == "turn.completed" && l.Usage != nil:
		if c.used == nil || l.Usage.Input+l.Usage.Output > c.used.Input+c.used.Output {
			c.used = l.Usage
		}
	default:
		return nil
	}
	return c.End(at)
}

// End returns what the thread has used, as far as it is known.
func (c *codex) End(at time.Time) []Entry {
	if c.thread == "" || c.used == nil {
		return nil
	}
	u := c.used
	return []Entry{{ID: "codex:" + c.thread, Provider: c.run.Provider, Model: c.run.Model, Session: c.thread,
		Input: max(u.Input-u.Cached-u.CacheWrite, 0), CacheRead: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, At: at}}
}
