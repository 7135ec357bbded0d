package viewstest

import (
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs/status"
	"github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// The samples are the pages of the mockups, so that screenshots can be
// compared with them.

// Noon is the time of every sample.
var Noon = time.Date(2025, 11, 21, 12, 46, 40, 0, time.UTC)

func ago(d time.Duration) time.Time { return Noon.Add(-d) }

// Shell returns the shell of a member who may write.
func Shell(section layout.Section, title string) layout.Shell {
	return layout.Shell{
		Title: title, Section: section, Workspace: "Kestrel Labs", Person: "Mara Ilić", Initials: "MI",
		Now: Noon, Path: "/board", LiveURL: links.LiveBoard("17", links.Filter{}), CanWrite: true,
		Health: layout.Health{Word: "Late", Icon: "clock-alert", Tone: ui.Warn},
		Fleet: layout.Fleet{Free: "2 seats free", Rows: []layout.FleetRow{
			{ID: ui.FactoryID("mac-1"), Name: "mac-1", Pips: ui.Pips{On: 4}, Text: "4 of 4"},
			{ID: ui.FactoryID("linux-2"), Name: "linux-2", Pips: ui.Pips{On: 4, Free: 2}, Text: "4 of 6"},
			{ID: ui.FactoryID("linux-3"), Name: "linux-3", Pips: ui.Pips{Drain: 1, Free: 3}, Text: "drain", Tone: ui.Warn,
				Title: "Draining: current jobs may end, no new claims"},
			{ID: ui.FactoryID("linux-5"), Name: "linux-5", Pips: ui.Pips{Off: 4}, Text: "dead", Tone: ui.Bad, Title: "Dead since 11:57"},
		}},
	}
}

// Card returns a card of any status with its column, menu and reason.
func Card(key, title string, is ui.Status, pri int) board.Card {
	c := board.Card{
		Key: key, Title: title, URL: links.Job(key), Status: is, Percent: -1, Place: "fleetboard · M2",
		Priority: pri, Version: 7, MoveURL: links.JobMove(key),
	}
	switch is {
	case status.Waiting, status.Paused, status.Blocked:
		c.Column, c.FootWord, c.Foot = "waiting", "waiting", ui.For(ago(3*time.Hour), Noon)
		c.Moves = []jobparts.Move{{To: "ready", Glyph: status.Ready, Label: "Ready, put it back"}}
	case status.Ready:
		c.Column, c.FootWord, c.Foot = "ready", "ready", ui.For(ago(17*time.Minute), Noon)
		c.Moves = []jobparts.Move{{To: "waiting", Glyph: status.Blocked, Label: "Waiting, block it"}}
	case status.Assigned, status.Running:
		c.Column, c.Agent, c.Factory = "running", "claude-2", "mac-1"
		c.Elapsed = ui.For(ago(12*time.Minute), Noon)
		c.Moves = []jobparts.Move{{To: "waiting", Glyph: status.Paused, Label: "Waiting, pause it"}, {To: "ready", Glyph: status.Ready,
			Label: "Ready, give the lease back"}}
		c.Actions = []ui.Action{{Verb: "cancel", Label: "Cancel job", Icon: "circle-stop", Danger: true, URL: links.JobAction(key,
			"cancel"), Dialog: &ui.Dialog{}}}
	case status.InReview, status.Approved:
		c.Column, c.FootWord, c.Foot = "review", "in review", ui.For(ago(52*time.Minute), Noon)
		c.Moves = []jobparts.Move{{To: "ready", Glyph: status.Ready, Label: "Ready, reject it"}}
	case status.Completed:
		c.Column, c.Sub, c.Ended = "done", "fleetboard", ui.For(ago(34*time.Minute), Noon)
		c.Actions = []ui.Action{{Verb: "archive", Label: "Archive", Icon: "archive", URL: links.JobAction(key, "archive")}}
	default:
		c.Column, c.Sub, c.SubTone, c.Ended = "failed", "checksum differs, 3 retries", ui.Bad, ui.For(ago(2*time.Hour), Noon)
		c.Moves = []jobparts.Move{{To: "ready", Glyph: status.Ready, Label: "Ready, try again"}}
	}
	return c
}

// Because gives a card the reason why it does not run.
func Because(c board.Card, icon string, tone ui.Tone, text ...ui.Span) board.Card {
	c.Reason = &jobparts.Reason{Icon: icon, Text: ui.Say(text...), Tone: tone}
	return c
}

// Running returns a card of a job that runs.
func Running(key, title string, pri, percent int, step string, since time.Duration) board.Card {
	c := Card(key, title, status.Running, pri)
	c.Percent, c.Step, c.Progress = percent, step, ui.Ago(ago(since), Noon)
	return c
}

// LinkToJob returns a job in a sentence.
func LinkToJob(key string) ui.Span { return ui.Link(key, links.Job(key)) }

// Board has cards of every status.
func Board() board.Board {
	ask := Card("FB-150", "Rotate webhook secrets with an overlap window", status.Blocked, 8)
	ask.Reason = &jobparts.Reason{Icon: "message-circle-question-mark", Ask: true, Text: ui.Say(ui.Strong("claude-5 asks:"),
		ui.T(" keep signing with the old secret for 24 hours or 7 days?"))}
	ask.Answer, ask.FootWord, ask.Foot = links.Job("FB-150")+"#question", "asked", ui.Ago(ago(22*time.Minute), Noon)
	waiting := []board.Card{
		ask,
		Because(Card("FB-147", "Burn-down with projection fan", status.Waiting, 7), "link", "", ui.T("Waits for "), LinkToJob("FB-142"),
			ui.T(" and "), LinkToJob("FB-139")),
		Because(Card("FB-144", "Backfill usage entries from the provider export", status.Waiting, 6), "lock", "", ui.T("Repo busy: "),
			LinkToJob("FB-137"), ui.T(" holds "), ui.Name("ledger-api"), ui.T(", 31m so far")),
		Because(Card("FB-133", "Keyset paging for the audit log", status.Waiting, 5), "timer-reset", "",
			ui.T("Retry 2 of 3 in 4m. Last: lint failed in internal/audit")),
		Because(Card("FB-126", "Move the nightly backup to the new bucket", status.Paused, 4), "circle-pause", "",
			ui.T("Paused by Jonas Weber at step 3 of 5, checkpoint kept")),
		Because(Card("FB-158", "Weekly dependency report", status.Waiting, 3), "calendar-clock", "", ui.T("Not before 18:00")),
	}
	ready := []board.Card{
		Because(Card("FB-151", "Port the prompt cache to the codex engine", status.Ready, 9), "unplug", ui.Warn,
			ui.T("No live factory offers "), ui.Key("engine:codex"), ui.T(". Nearest miss: "), ui.Name("linux-2")),
		Because(Card("FB-160", "Read receipts in the message list", status.Ready, 7), "server", "", ui.T("None of the 4 seats that hold "),
			ui.Name("ios-client"), ui.T(" is free, on "), ui.Name("mac-1")),
		Because(Card("FB-161", "Focus ring on the date picker", status.Ready, 6), "circle-check", ui.OK, ui.T("A seat is free on linux-2")),
	}
	late := Running("FB-145", "Sticky header hides the focused row in long tables", 7, 80, "Browser tests", 14*time.Minute)
	late.ProgressLate = true
	late.Notice = &jobparts.Reason{Icon: "triangle-alert", Tone: ui.Warn, Text: ui.Text("No progress for 14m, warned")}
	assigned := Card("FB-152", "Own rate-limit bucket for heartbeats", status.Assigned, 6)
	assigned.Step, assigned.Elapsed, assigned.Progress = "Assigned, not started", ui.When{}, ui.For(ago(6*time.Second), Noon)
	running := []board.Card{
		Running("FB-142", "Fix flaky TestReaper under -race", 8, 62, "Reaper tests, 200 runs", 40*time.Second),
		late,
		Running("FB-137", "Double-entry check for settled reservations", 7, 48, "Writing migration 0042", time.Minute),
		Running("FB-139", "Projection from hourly ledger buckets", 6, 71, "Property tests", 20*time.Second),
		assigned,
	}
	review := []board.Card{
		Because(Card("FB-136", "Drain a factory without losing leases", status.InReview, 8), "git-commit-horizontal", "", ui.T("Commit "),
			ui.Key("9be04d1"), ui.T(", 6 of 6 criteria")),
		Because(Card("FB-130", "Retry webhooks with jitter", status.Approved, 6), "git-merge", "",
			ui.T("Approved by Priya Nair, to be merged")),
	}
	aborted := Card("FB-121", "Try a second cache layer", status.Aborted, 3)
	aborted.Sub, aborted.SubTone = "by Jonas Weber", ""
	failed := []board.Card{Card("FB-134", "Vendor scripts with a manifest", status.Failed, 5), aborted}
	var done []board.Card
	for i, title := range []string{"Heartbeats off the event log", "Explain: all seats taken", "Token prefix and checksum",
		"Reject needs a reason", "Group the board by factory", "Tabular figures in tables", "Escape control characters"} {
		done = append(done, Card(fmt.Sprintf("FB-%d", 115-i), title, status.Completed, 5))
	}
	one := func(cards []board.Card) []board.CardGroup { return []board.CardGroup{{Cards: cards}} }
	options := []ui.FilterOption{{Label: "All", URL: "/board", Selected: true}, {Label: "ledger-api", URL: "/board?repo=ledger-api"}}
	return board.Board{
		Total: "75 jobs", CanWrite: true, ClearURL: "/board",
		Filters: []ui.FilterMenu{
			{ID: "product", Label: "Product", Options: options}, {ID: "repo", Label: "Repo", Options: options},
			{ID: "factory", Label: "Factory", Options: options}, {ID: "phase", Label: "Phase", Options: options},
		},
		Active:   []ui.ActiveFilter{{Text: "Priority 3 or more", RemoveURL: "/board"}},
		Grouping: ui.FilterMenu{ID: "group", Label: "Group: status", Options: options},
		Note: &ui.Note{
			Tone: ui.Warn, Icon: "unplug", Strong: "2 jobs cannot run on any live factory.", ActionLabel: "Show",
			ActionMore: "the 2 jobs", ActionURL: "/board?show=unroutable",
			Text: ui.Say(ui.T("FB-151 needs "), ui.Key("engine:codex"), ui.T(", FB-149 needs "), ui.Key("repo:billing-ui"),
				ui.T(". linux-5 offered both and is dead since 11:57.")),
		},
		Columns: []board.Column{
			{Name: "waiting", Title: "Waiting", Count: "11", Groups: one(waiting)},
			{Name: "ready", Title: "Ready", Count: "3", Groups: one(ready)},
			{Name: "running", Title: "Running", Count: "9", Sub: "2 seats free", Groups: one(running)},
			{Name: "review", Title: "Review", Count: "2", Sub: "limit 8", Groups: one(review)},
			{Name: "done", Title: "Done", Count: "1,041", Groups: one(done), MoreURL: links.BoardColumn("done", "abc", links.Filter{})},
			{Name: "failed", Title: "Failed", Count: "2", Groups: one(failed)},
		},
	}
}

// EmptyBoard has columns without cards.
func EmptyBoard() board.Board {
	b := Board()
	b.Note, b.Active, b.Total = nil, nil, "1 job"
	for i := range b.Columns {
		b.Columns[i].Count, b.Columns[i].Groups, b.Columns[i].MoreURL = "0", nil, ""
		b.Columns[i].Empty = ui.Empty{Title: "Nothing waits",
			Text: "Jobs come here when a dependency, a budget or a time holds them back."}
	}
	return b
}
