package reason

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// DirectiveReason says what the agent was directed to do, nil for nothing.
func DirectiveReason(j jobs.Job, now time.Time) *viewparts.Reason {
	lease := j.Lease
	if lease.GivesSeat() {
		return &viewparts.Reason{Icon: "log-out", Text: ui.Text("Asked to give its seat to a more urgent job")}
	}
	switch lease.Directive {
	case string(jobs.ByPause):
		return &viewparts.Reason{Icon: "circle-pause", Tone: ui.Warn, Text: askedText(status.Pausing, lease, now)}
	case string(jobs.ByCancel):
		return &viewparts.Reason{Icon: "circle-stop", Tone: ui.Bad, Text: askedText(status.Cancelling, lease, now)}
	case "warn":
		return warnReason(lease)
	case "drain":
		return &viewparts.Reason{Icon: "log-out", Text: ui.Text("Its factory drains, this job may end")}
	default:
		if lease.WarnedAt != nil {
			return warnReason(lease)
		}
		return nil
	}
}

// askedText is "Cancelling… asked by Mara Ilić, the agent has 40s".
func askedText(what jobs.Status, lease *jobs.Lease, now time.Time) ui.Sentence {
	text := append(ui.Say(ui.Strong(what.Word()), ui.T(" ")), ByText("asked", tenancy.Credit(lease.DirectiveBy, tenancy.Actor{}), "")...)
	if lease.GraceEndsAt != nil && lease.GraceEndsAt.After(now) {
		text = append(text, ui.T(", the agent has "), ui.Moment(ui.Left(*lease.GraceEndsAt, now)))
	}
	return text
}

// warnReason says that the agent got a warning of its time; that is still so when it
// has acknowledged.
func warnReason(lease *jobs.Lease) *viewparts.Reason {
	text := ByText("Long past its estimate", "", "")
	if lease.Directive == "warn" && lease.DirectiveReason != "" {
		text = ByText("Warned", "", lease.DirectiveReason)
	}
	return &viewparts.Reason{Icon: "clock-alert", Tone: ui.Warn, Text: text}
}
