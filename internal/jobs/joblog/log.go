package joblog

import (
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Level is how grave a line is.
type Level string

// The levels, from the least grave.
const (
	Debug    Level = "DEBUG"
	Info     Level = "INFO"
	Warning  Level = "WARNING"
	Error    Level = "ERROR"
	Critical Level = "CRITICAL"
)

// Levels lists them in order.
var Levels = []Level{Debug, Info, Warning, Error, Critical}

// Retention is how long lines are kept.
const Retention = 30 * 24 * time.Hour

// What is kept of a job's log, in bytes of its lines: of a minute, of an attempt and of
// all attempts. LineSize is what a line takes beside its texts.
const (
	MaxMinute  = 8 << 20
	MaxAttempt = 64 << 20
	MaxJob     = 256 << 20
	LineSize   = 120
)

// LinesLeftOut is the event of the line that says how many the limits left out.
const LinesLeftOut = "log.left_out"

// Line is one line that an agent wrote while it worked on a job.
type Line struct {
	ID         int64           `json:"id"`
	LineID     string          `json:"-"` // the agent's own id, "" where it gave none; readers are not given it
	Epoch      int64           `json:"epoch"`
	Agent      string          `json:"agent"`
	Level      Level           `json:"level"`
	Event      string          `json:"event"` // the agent's own name for what happened
	Message    string          `json:"message"`
	Details    json.RawMessage `json:"details"`
	At         *time.Time      `json:"at"`          // the agent's clock
	ReceivedAt time.Time       `json:"received_at"` // ours
}

// Size returns what the line takes of its log's limits.
func (l Line) Size() int64 {
	return int64(LineSize + len(l.Event) + len(l.Message) + len(l.Details) + len(l.LineID))
}

// Filter narrows a job's log.
type Filter struct {
	Level  Level  // this one and graver ones; "" is all
	Epoch  int64  // 0 is all
	Cursor string // of the page before
	Limit  int    // 1..200, 0 is 50
	// Text is in the message or the event of each line, in capitals or not. A page of a
	// search looks at MaxScan lines and may be empty with more to come.
	Text string
}

// MaxScan is how many lines a page of a search looks at.
const MaxScan = 5000

// Topic is published when lines were written to a job's log.
func Topic(workspace, job ids.ID) string { return "log:" + workspace.String() + ":" + job.String() }
