package web

import (
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
)

// shownJobs is how many jobs a loss names on a page.
const shownJobs = 8

// LossText says what the database lacks of the log.
func LossText(l loss.Loss) string {
	if l.Detail != "" {
		return "The log is not the one that was sealed: " + l.Detail + "."
	}
	text := Plural(int(l.Count), "event that was written is", "events that were written are") + " missing, positions " +
		strconv.FormatInt(l.First, 10) + " to " + strconv.FormatInt(l.Last, 10)
	keys := l.Jobs()
	if len(keys) > 0 {
		text += ", of " + strings.Join(keys[:min(len(keys), shownJobs)], ", ")
	}
	if len(keys) > shownJobs || l.Count > int64(len(l.Events)) && len(keys) > 0 {
		text += " and others"
	}
	return text + "."
}
