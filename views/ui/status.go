package ui

import "github.com/fleetboard/fleetboard/internal/jobs/status"

// Status is what stands for a job's status.
type Status = status.Status

// symbol names the look of a status: one that an agent still has to reach lends its look.
func symbol(s Status) string {
	switch {
	case s == status.Pausing:
		return string(status.Paused)
	case s == status.Cancelling:
		return string(status.Aborted)
	case s.Known():
		return string(s)
	default:
		return string(status.Archived)
	}
}

// StatusClass returns the CSS class that gives the status its hue.
func StatusClass(s Status) string { return "st st-" + symbol(s) }

// Tone is how loud a piece of text or a note is.
type Tone string

// The tones. Plain is the zero value.
const (
	Plain Tone = ""
	OK    Tone = "ok"
	Warn  Tone = "warn" // look here soon
	Bad   Tone = "bad"  // lost or refused
	Info  Tone = "info"
)
