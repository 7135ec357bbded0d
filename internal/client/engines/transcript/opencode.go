package transcript

import (
	"encoding/json"
	"time"
)

// openCode reads the output of OpenCode. Nothing is left for the end.
type openCode struct{ run Run }

// OpenCode returns the translator for a run of OpenCode.
func OpenCode(run Run) Translator { return &openCode{run: run} }

// Line reads a line.
func (o *openCode) Line(line []byte, at time.Time) []Entry {
	var l struct {
		Type    string `json:"type"`
		Session string `json:"sessionID"`
		Part    struct {
			ID     string      `json:"id"`
			Cost   json.Number `json:"cost"`
			Tokens *struct {
				Input     int64 `json:"input"`
				Output    int64 `json:"output"`
				Reasoning int64 `json:"reasoning"`
				Cache     struct {
					Read  int64 `json:"read"`
					Write int64 `json:"write"`
				} `json:"cache"`
			} `json:"tokens"`
		} `json:"part"`
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "step_finish" || l.Part.Tokens == nil || l.Part.ID == "" {
		return nil
	}
	t := l.Part.Tokens
	return []Entry{{ID: "opencode:" + l.Part.ID, Provider: o.run.Provider, Model: o.run.Model, Session: l.Session,
		Input: t.Input, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write, Output: t.Output + t.Reasoning,
		Cost: dollars(l.Part.Cost.String()), At: at}}
}

// End has nothing left to report.
func (o *openCode) End(time.Time) []Entry { return nil }
