package reason

import (
	"time"

	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
	viewparts "fleetboard/views/jobparts"
	"fleetboard/views/ui"
)

// DirectiveReason says what the agent was asked, nil for nothing.
func DirectiveReason(j jobs.Job, now time.Time) *viewparts.Reason {
	lease := j.Lease
	grace := ""
	if lease.GraceEndsAt != nil && lease.GraceEndsAt.After(now) {
		grace = ", it has " + ui.Clock(lease.GraceEndsAt.Sub(now))
	}
	switch lease.Directive {
	case string(jobs.ByPause):
		return &viewparts.Reason{Icon: "circle-pause", Tone: ui.Warn,
			Text: ui.Text(ByText("Asked to pause", tenancy.Credit(lease.DirectiveBy, tenancy.Actor{}), "").String() + grace)}
	case string(jobs.ByCancel):
		return &viewparts.Reason{Icon: "circle-stop", Tone: ui.Bad,
			Text: ui.Text(ByText("Asked to stop", tenancy.Credit(lease.DirectiveBy, tenancy.Actor{}), "").String() + grace)}
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

// warnReason says that the agent was told of its time; that is still so when it
// has acknowledged.
func warnReason(lease *jobs.Lease) *viewparts.Reason {
	text := ByText("Long past its estimate", "", "")
	if lease.Directive == "warn" && lease.DirectiveReason != "" {
		text = ByText("Warned", "", lease.DirectiveReason)
	}
	return &viewparts.Reason{Icon: "clock-alert", Tone: ui.Warn, Text: text}
}
