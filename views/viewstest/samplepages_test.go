package viewstest

import (
	"net/url"
	"time"

	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/internal/jobs/status"
	"github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/login"
	"github.com/fleetboard/fleetboard/views/needsyou"
	"github.com/fleetboard/fleetboard/views/palette"
	"github.com/fleetboard/fleetboard/views/review"
	"github.com/fleetboard/fleetboard/views/ui"
)

var firstRun = ui.FirstRun{Server: "http://127.0.0.1:8080", TokenFile: "/var/lib/fleetboard/enrolment-token", CanWrite: true}

// sampleTranscript has a step of each form.
func sampleTranscript() job.Transcript {
	url := links.Transcript("FB-142", links.TranscriptView{})
	return job.Transcript{Key: "FB-142", JobURL: links.Job("FB-142"), PageURL: url, Attempt: 3, AllURL: url, Newest: url, Older: url, HasOlder: true,
		Attempts: []job.LogFilter{{Label: "e3", URL: url, Current: true}, {Label: "e2", URL: url}},
		Kinds:    []job.LogFilter{{Label: "All", URL: url, Current: true}, {Label: "Edits", URL: url}},
		Sum:      job.TranscriptSum{Steps: "3 steps", Tokens: "1,200 tokens", Cost: "$0.50", LeftOut: "2 left out"},
		LiveURL:  links.LiveTranscript("FB-142", 3, 3, links.TranscriptView{}),
		Steps: []job.Step{
			{N: 1, URL: links.TranscriptStep("FB-142", 3, 1), At: ui.At(Noon), Kind: "says", Icon: "bot", Title: []job.LogPiece{{Text: "I look."}}, Text: "I look.\nLong."},
			{N: 2, URL: links.TranscriptStep("FB-142", 3, 2), At: ui.At(Noon), Kind: "edits", Icon: "pencil", Title: []job.LogPiece{{Text: "Edit "}, {Text: "a", Hit: true}},
				Path: "a.go", Diff: []jobparts.DiffLine{{Kind: jobparts.DiffHead, Text: "@@ -1 +1 @@"}, {Kind: jobparts.DiffAdded, Text: "+new"}}, Open: true,
				TextURL: links.TranscriptText("FB-142", 3, 2)},
			{N: 3, URL: links.TranscriptStep("FB-142", 3, 3), At: ui.At(Noon), Kind: "spends", Icon: "coins", Quiet: true, Tool: "model",
				Title: []job.LogPiece{{Text: "claude"}}, Spent: "1,200 tokens, $0.50", BlobURL: links.Blob("ab")},
		}}
}

var sampleLog = job.Log{PageURL: links.JobLog("FB-142", links.LogView{}), FileURL: links.LogText("FB-142", links.LogView{})}

func sampleJob() job.Job {
	cancel := ui.Action{Verb: "cancel", Label: "Cancel job", Icon: "circle-stop", Danger: true, Main: true, URL: links.JobAction("FB-142", "cancel"), Dialog: &ui.Dialog{
		Title: "Cancel FB-142?", Text: ui.Text("claude-2 gets 60 seconds to stop. Two jobs depend on it."), Reason: true, Keep: "Keep it running", Confirm: "Cancel job"}}
	return job.Job{
		Key: "FB-142", Title: "Fix flaky TestReaper under -race", Status: status.Running, Percent: 62, Column: "Running", Version: 19,
		Meta:    []ui.Sentence{ui.Text("fleetboard"), ui.Text("M2"), ui.Text("priority 8"), ui.Text("third attempt")},
		Created: ui.Day(ago(108 * time.Minute)), CreatedBy: "Mara Ilić",
		Ways:    []jobparts.Way{{Name: "edit", Label: "Edit", Icon: "pencil", URL: links.JobEdit("FB-142", ""), Key: "e"}, {Name: "copy", Label: "Duplicate", Icon: "copy", URL: links.JobCopy("FB-142")}},
		MoveURL: links.JobMove("FB-142"),
		Moves:   []jobparts.Move{{To: "waiting", Glyph: status.Paused, Label: "Waiting, pause it"}, {To: "ready", Glyph: status.Ready, Label: "Ready, give the lease back"}},
		Actions: []ui.Action{{Verb: "pause", Label: "Pause", Icon: "pause", Main: true, URL: links.JobAction("FB-142", "pause")}, cancel},
		Strip: []job.StripItem{
			{Label: "Working on it", Value: "claude-2", Rest: "on mac-1", Beat: ui.OK, Note: ui.Text("heartbeat"), NoteWhen: ui.Ago(ago(4*time.Second), Noon)},
			{Label: "Progress", Value: "62%", Rest: "Reaper tests, 200 runs", Bar: true, Percent: 62, Wide: true, NoteWhen: ui.Ago(ago(40*time.Second), Noon)},
			{Label: "Lease", Clock: ui.Left(Noon.Add(896*time.Second), Noon), Rest: "left", Note: ui.Text("epoch 3, until"), NoteWhen: ui.At(Noon.Add(896 * time.Second))},
			{Label: "Elapsed", Clock: ui.Run(ago(760*time.Second), Noon), Rest: "of about 25m", Note: ui.Text("after 41m in earlier attempts")},
		},
		Body:       ui.Markdown("Two sweeps that overlap can both take back the same lease, and `TestReaper/two_sweeps_overlap` then fails about once in 40 runs under `-race`. Make the take-back one guarded update, and let the test wait on a barrier instead of sleeping.\n\n- one guarded update\n- no sleep\n\n```\ngo test -race -count=200 ./internal/dispatch\n```\n"),
		Acceptance: jobparts.Acceptance{Note: "2 of 4", URL: links.JobTick("FB-142"), Items: []jobparts.Criterion{{Text: "No sleep in the test", Met: true}, {Text: "A finished job is never taken back", Met: true}, {Text: "200 runs under -race without a failure"}, {Text: "The sweep stays under 20 ms at 10,000 leases"}}},
		Graph: &job.Graph{Width: 380, Height: 100, Label: "FB-98 before FB-142",
			Boxes: []job.GraphBox{{Key: "FB-98", Title: "Reaper: one guarded query", URL: links.Job("FB-98"), Status: status.Completed}, {X: 212, Key: "FB-142", Title: "Fix flaky TestReaper", Status: status.Running, Current: true}},
			Edges: []job.GraphEdge{{Path: "M168 20L205 20", Kind: "blocks"}, {Path: "M168 24L205 24", Kind: "duplicates", Back: true}},
			Rows:  []job.GraphRow{{From: "FB-142", FromURL: links.Job("FB-142"), FromStatus: status.Running, Verb: "waits for", To: "FB-98", ToURL: links.Job("FB-98"), ToStatus: status.Completed}}},
		Links:    []job.Link{{ID: "link-blocks-fb-98", Verb: "waits for", Key: "FB-98", Title: "Reaper: one guarded query", URL: links.Job("FB-98"), Status: status.Completed, RemoveURL: links.JobUnlink("FB-142"), Other: "FB-98", Type: "blocks"}},
		LinkForm: &job.LinkForm{URL: links.JobLink("FB-142"), SearchURL: links.JobLinkable("FB-142"), Kinds: []ui.Option{{Value: "waits_for", Label: "waits for"}}},
		Needs:    []job.Fact{{Name: "Repo", Text: ui.Say(ui.Key("fleetboard"))}, {Name: "Factory", Text: ui.Text("Any live factory")}, {Name: "Capabilities", Chips: []string{"engine:claude", "go:1.26"}}, {Name: "Can run on", Text: ui.Text("mac-1, linux-2 of 4")}},
		Limits:   []job.Fact{{Name: "Estimate", Text: ui.Text("25 min, warned at 55")}, {Name: "Retries", Text: ui.Text("1 of 3 used")}, {Name: "Review", Text: ui.Text("Needed")}, {Name: "Version", Text: ui.Say(ui.Key("v19"))}},
		Attempts: []job.Attempt{
			{Number: 3, Agent: "claude-2", Factory: "mac-1", Status: status.Running, Outcome: "Running", Running: ui.Run(ago(760*time.Second), Noon), Percent: "62%",
				Used: job.Used{Tokens: "412,008 in, 23,119 out", Cache: "1,204,551 read from the cache", Cost: "$0.84 + unpriced"}},
			{Number: 2, Agent: "claude-11", Factory: "linux-5", Icon: "unplug", IconTone: ui.Warn, Outcome: "Lost", Detail: "no heartbeat for 5m, lease taken back", Took: "33m", Percent: "41%"},
			{Number: 1, Agent: "claude-1", Factory: "mac-1", Status: status.Failed, Outcome: "Failed", Detail: "go test: exit 1, 2 races in reap_test.go", Took: "8m 12s", Percent: "20%"},
		},
		Used:        job.Used{Tokens: "512,008 in, 29,119 out", Cost: "$1.12 + unpriced"},
		AttemptNote: "1 failure of 3, 1 loss of 5", EventNote: "47",
		Events: []job.Event{
			{ID: 47, At: ui.At(ago(40 * time.Second)), Kind: "progress", Text: ui.Text("62%, was 41%"), Who: sampleAgent, Tag: "e3"},
			{ID: 46, At: ui.At(ago(12 * time.Minute)), Kind: "started", From: status.Assigned, To: status.Running, Who: sampleAgent, Tag: "e3"},
			{ID: 45, At: ui.At(ago(13 * time.Minute)), Kind: "claimed", From: status.Ready, To: status.Assigned, Who: sampleAgent, Tag: "e3"},
			{ID: 44, At: ui.At(ago(49 * time.Minute)), Kind: "lease lost", From: status.Running, To: status.Ready, Text: ui.Text("linux-5 is dead, 1 of 5 losses"), Who: events.Actor{Name: "reaper", Mark: "system", Icon: "settings", Title: "System"}, Tag: "e2"},
		},
		Checkpoint: "{\n  \"step\": 3, \"of\": 4,\n  \"branch\": \"fb-142-reaper\"\n}", CheckNote: ui.Text("kept 40s ago, any factory can go on from it"),
	}
}

var sampleAgent = events.Actor{Name: "claude-2", Mark: "agent", Icon: "bot", Title: "Agent"}

func waitingJob() job.Job {
	j := sampleJob()
	j.Key, j.Title, j.Status, j.Strip, j.Percent = "FB-151", "Port the prompt cache to the codex engine", status.Ready, nil, -1
	j.Attempts, j.AttemptNote, j.Checkpoint = nil, "", ""
	j.Why = &job.Why{Icon: "unplug", Tone: ui.Warn, Title: "No live factory can run FB-151", Rows: []job.WhyRow{
		{Name: "linux-2", Text: "lacks", Missing: []string{"engine:codex"}, Remark: "nearest miss"},
		{Name: "mac-1", Text: "lacks", Missing: []string{"engine:codex", "os:linux"}, Remark: "misses 2"},
		{Name: "linux-5", Text: "has all 3, dead since 11:57", Remark: "last offered it"},
	}}
	j.Actions = []ui.Action{{Verb: "block", Label: "Block", Icon: "circle-stop", Main: true, URL: links.JobAction("FB-151", "block"), Dialog: &ui.Dialog{Title: "Block FB-151?", Reason: true, Keep: "Leave it", Confirm: "Block it"}}}
	return j
}

func doneJob() job.Job {
	j := sampleJob()
	j.Status, j.Strip, j.Percent, j.Checkpoint = status.Completed, nil, 100, ""
	j.Moves, j.Actions = nil, []ui.Action{{Verb: "archive", Label: "Archive", Icon: "archive", URL: links.JobAction("FB-142", "archive")}}
	j.Feedback = "The sweep is not measured yet."
	j.Result = &jobparts.Outcome{Summary: ui.Markdown("The take-back is **one guarded update** now."), Commit: "a41f9c2d0f5e4b3a2c1d0e9f8a7b6c5d4e3f2a1b", Branch: "fleet/FB-142", JSON: "{\n  \"commit\": \"a41f9c2\"\n}"}
	return j
}

func sampleReview() review.Review {
	reject := ui.Action{Verb: "reject", Label: "Reject", Key: "r", Danger: true, URL: links.ReviewAction("FB-136", "reject"),
		Dialog: &ui.Dialog{Title: "Send FB-136 back?", Reason: true, Long: true, Required: true, Keep: "Leave it in review", Confirm: "Reject"}}
	return review.Review{
		Count: "2 wait for a decision", Place: "1 of 2", Merging: "1", After: links.ReviewJob("FB-141", ""), NextURL: links.ReviewJob("", "1.2.3"), FirstURL: links.Review,
		Queue: []review.Item{
			{Key: "FB-136", Title: "Drain a factory without losing leases", URL: links.ReviewJob("FB-136", ""), Status: status.InReview, Current: true, Repo: "fleetboard", Since: ui.For(ago(130*time.Minute), Noon), Late: true, Priority: 8, Agent: "claude-4", Counted: true, Added: 412, Deleted: 97},
			{Key: "FB-141", Title: "Idempotent usage entries", URL: links.ReviewJob("FB-141", ""), Status: status.InReview, Since: ui.For(ago(52*time.Minute), Noon), Priority: 5, Product: "ledger"}},
		Approved: []review.Item{{Key: "FB-130", Title: "Retry webhooks with jitter", URL: links.ReviewJob("FB-130", ""), Status: status.Approved, Since: ui.For(ago(4*time.Minute), Noon)}},
		Job: &review.Job{Key: "FB-136", Title: "Drain a factory without losing leases", URL: links.Job("FB-136"), Status: status.InReview, Epoch: "2", CanWrite: true,
			Meta:    []ui.Sentence{ui.Text("claude-4 on linux-2"), ui.Text("second attempt")},
			Sent:    []jobparts.Feedback{{Icon: "undo-2", What: "Sent back by Priya Nair", At: ui.Ago(ago(3*time.Hour), Noon), Text: "Leases must end by themselves."}},
			Gone:    &review.Gone{Text: ui.Text("FB-136 is not in review."), NextURL: links.ReviewJob("FB-141", "")},
			Summary: ui.Markdown("Drain only **stops** new claims."), Body: ui.Markdown("Stop claims."),
			Changes: &jobparts.Changes{Count: 3, Counted: true, Added: 412, Deleted: 97, Hidden: 1, Files: []jobparts.ChangedFile{
				{Path: "internal/fleet/drain.go", Note: "new", Counted: true, Added: 58, Deleted: 21, Cut: true, Lines: []jobparts.DiffLine{
					{Kind: jobparts.DiffHead, Text: "func Drain"}, {Kind: jobparts.DiffSame, Old: "41", New: "41", Text: "f()"}, {Kind: jobparts.DiffDeleted, Old: "42", Text: "g()"}, {Kind: jobparts.DiffAdded, New: "42", Text: "h()"}}},
				{Path: "README.md"}}},
			Findings: []review.Finding{{Name: "go test -race", Text: "1,204 passed", Tone: ui.OK}, {Name: "lint", Text: "failed 2", Tone: ui.Warn}},
			JSON:     "{}", Acceptance: sampleJob().Acceptance, Commit: "9be04d1", Head: "9be04d1f00", Branch: "fleet/FB-136", LinkURL: "https://git.example/x/1", LinkText: "https://git.example/x/1",
			Actions: []ui.Action{reject, {Verb: "approve", Label: "Approve", Key: "a", Main: true, URL: links.ReviewAction("FB-136", "approve")}}},
		Dialogs: []ui.Action{reject},
	}
}

func sampleForm() jobform.Form {
	return jobform.Form{
		Form: ui.Form{Typed: url.Values{"title": {"Idempotency keys on every POST that creates"},
			"body":       {"A repeated POST with the same `Idempotency-Key` must answer with the first result for 24 hours."},
			"acceptance": {"Same key and body: same status, same body", "50 equal requests at once create one invoice"},
			"phase":      {"M2"}, "priority": {"6"}, "max_retries": {"3"}, "estimated_minutes": {"25"}, "review_required": {"yes"}}},
		IdempotencyKey: "0193-abc",
		Repo:           []ui.Option{{Label: "No repo"}, {Value: "ledger-api", Label: "ledger-api", Selected: true}},
		Factory:        []ui.Option{{Label: "Any live factory", Selected: true}, {Value: "linux-2", Label: "linux-2"}},
		Engines: []jobform.EngineOption{
			{Label: "Any engine", Note: "the first free seat"}, {Value: "claude", Label: "claude", Note: "2 factories, 2 seats free", Selected: true},
			{Value: "codex", Label: "codex", Note: "none live since 11:57", Offline: true},
		},
		Capabilities: []jobform.Token{{Value: "os:linux"}, {Value: "has:docker"}, {Value: "gpu:a100", Offline: true}},
		Offered:      []string{"go:1.26", "has:git", "has:postgres", "node:20"},
		DependsOn:    []jobform.Dependency{{Key: "FB-137", Title: "Double-entry check for settled reservations", Status: status.Running, Percent: 48}},
		Products:     []ui.Option{{Value: "ledger", Label: "Ledger API", Selected: true}}, Phases: []string{"M1", "M2"},
		Routability: sampleRouting(),
	}
}

func sampleRouting() jobform.Routability {
	return jobform.Routability{
		Tone: ui.OK, Title: "1 of 4 factories can run this", Text: "2 seats free, from heartbeats 3 s ago",
		Rows: []jobform.Fit{
			{Name: "linux-2", About: "Debian 12 · claude", Kind: jobform.FitYes, Text: "Holds ledger-api. 2 agents idle: claude-8, claude-9.", Pips: ui.Pips{On: 4, Free: 2}, Seats: "2 free"},
			{Name: "linux-3", About: "Ubuntu 24.04 · claude", Kind: jobform.FitSoon, Text: "Would fit, but it is draining and takes no new claims.", Pips: ui.Pips{Drain: 1, Free: 3}, Seats: "drain"},
			{Name: "mac-1", About: "macOS 15 · claude", Kind: jobform.FitNo, Text: "Misses 2 of 4 needs.", Missing: []jobform.Missing{{Token: "os:linux", Field: "capabilities"}, {Token: "repo:ledger-api", Field: "repo"}}, Pips: ui.Pips{On: 4}, Seats: "0 free"},
			{Name: "linux-5", About: "Debian 12 · claude, codex", Kind: jobform.FitNo, Text: "Dead since 11:57, it offered engine:codex.", Pips: ui.Pips{Off: 4}, Seats: "dead"},
		},
		Foot:     ui.Say(ui.Strong("Starts at once."), ui.T(" FB-137 also holds ledger-api.")),
		RepoHint: "Held by linux-2 and linux-3", FactoryHint: "Pick one only if it must run there",
	}
}

func badForm() jobform.Form {
	f := sampleForm()
	f.Typed["title"], f.Typed["priority"] = nil, []string{"11"}
	f.Error = "The job was not created. Two fields need a look, your text is kept."
	f.Errors = map[string]string{"title": "A title is needed.", "priority": "A whole number from 0 to 10.", "depends_on": "FB-9999 is not a job of this workspace.", "repo": "No live factory holds it.", "acceptance": "At most 50 criteria."}
	f.Repo = append(f.Repo, ui.Option{Value: "billing-ui", Label: "billing-ui", Selected: true, Offline: true})
	return f
}

func editForm() jobform.Form {
	f := badForm()
	f.Edit = &jobform.Edit{Key: "FB-142", Title: "Idempotency keys", URL: links.JobRetryWith("FB-142"), JobURL: links.Job("FB-142"), DraftURL: links.JobDraft("FB-142", true),
		CopyURL: links.JobCopy("FB-142"), Version: 7, Base: "title=0a1b", Retry: true, CanRetry: true, Inputs: []string{"BRANCH"}, Secrets: []string{"TOKEN"},
		Locked: map[string]string{"repo": "claude-2 works on it; this can change once nobody does.", "capabilities": "claude-2 works on it.", "engine": "claude-2 works on it.", "depends_on": "It is over."},
		Changes: []jobform.Change{{Field: "priority", Label: "Priority", Now: "7", By: "claude-1", Differs: true}, {Field: "repo", Label: "Repo", Dropped: true},
			{Field: "body", Label: "Description", Now: "One\nTwo", By: "Jonas Weber"}}}
	return f
}

func copiedForm() jobform.Form {
	f := sampleForm()
	f.Copy = jobform.Copy{Key: "FB-12", URL: links.Job("FB-12"), Secrets: []string{"TOKEN", "KEY"}, Left: []string{"matrix"}}
	return f
}

func sampleAgents() agents.Agents {
	working := func(name, model, key, title string, pct, cpu int) agents.Agent {
		return agents.Agent{Name: name, Model: model, State: "Working", Glyph: status.Running, Beat: ui.For(ago(4*time.Second), Noon), CPU: cpu, Memory: "3.9 GB", Terminate: links.Terminate(name), Leaves: key + " goes back to Ready.",
			Jobs: []agents.AgentJob{{Key: key, Title: title, URL: links.Job(key), Percent: pct, Progress: ui.For(ago(40*time.Second), Noon), Lease: ui.Left(Noon.Add(896*time.Second), Noon)}}}
	}
	idle := agents.Agent{Name: "claude-8", Model: "sonnet", State: "Idle", Glyph: status.Ready, Beat: ui.For(ago(7*time.Second), Noon), CPU: 1, Memory: "1.2 GB", Terminate: links.Terminate("claude-8")}
	slow := working("claude-1", "opus", "FB-145", "Sticky header hides the focused row in long tables", 80, 71)
	slow.State, slow.Icon, slow.Tone, slow.Jobs[0].ProgressLate = "No progress", "triangle-alert", ui.Warn, true
	return agents.Agents{
		Count: "3 live factories, 6 agents", CanRun: true, FirstRun: firstRun,
		Factories: []agents.Factory{
			{Name: "mac-1", About: "macOS 15, arm64 · claude", Pips: ui.Pips{On: 4}, SeatsText: "4 of 4 taken", Repos: []string{"fleetboard", "atlas-web", "ios-client"}, Caps: []string{"has:xcode", "go:1.26", "node:20", "has:git"}, DrainURL: links.Drain("mac-1"),
				Agents: []agents.Agent{slow, working("claude-2", "sonnet", "FB-142", "Fix flaky TestReaper under -race", 62, 94)}},
			{Name: "linux-2", About: "Debian 12, x86_64 · claude", Pips: ui.Pips{On: 4, Free: 2}, SeatsText: "2 of 6 free", Repos: []string{"fleetboard", "ledger-api", "atlas-web", "docs", "infra"}, Caps: []string{"has:docker", "go:1.26"}, DrainURL: links.Drain("linux-2"),
				Agents: []agents.Agent{working("claude-4", "opus", "FB-137", "Double-entry check for settled reservations", 48, 43), idle}},
			{Name: "linux-3", About: "Ubuntu 24.04, x86_64 · claude", Pips: ui.Pips{Drain: 1, Free: 3}, SeatsText: "1 of 4 still working", Draining: true, Undrain: links.Undrain("linux-3"), Repos: []string{"ledger-api", "docs"},
				Note: ui.Text("Drained by Jonas Weber at 12:20. No new claims, FB-153 may end."), Agents: []agents.Agent{working("claude-14", "sonnet", "FB-153", "Rewrite the quick start for two factories", 88, 22)}},
			{Name: "linux-5", About: "Debian 12, x86_64 · claude, codex", Pips: ui.Pips{Off: 4}, SeatsText: "4 seats gone", Dead: true, DeadSince: ui.At(ago(49 * time.Minute)), Repos: []string{"fleetboard", "billing-ui"}, Caps: []string{"engine:codex"},
				Agents: []agents.Agent{{Name: "codex-1", Model: "codex", State: "Dead", Icon: "unplug", Tone: ui.Bad, Beat: ui.For(ago(54*time.Minute), Noon), BeatTone: ui.Bad, CPU: -1}}},
		},
	}
}

func sampleNeeds() needsyou.Needs {
	return needsyou.Needs{Count: "1 question, 1 review, 1 failed", More: "These are the 3 oldest. There are more.", Rows: []needsyou.Row{
		{Key: "FB-12", Title: "Publish the client to the registry", URL: links.Job("FB-12"), Status: status.Failed, What: "Failed", Place: "fleetboard · M2",
			Since: ui.For(ago(50*time.Hour), Noon), Version: 9, Reason: &jobparts.Reason{Icon: "octagon-alert", Text: ui.Text("Failed for good: exit status 2"), Tone: ui.Bad},
			Actions: []ui.Action{{Verb: "retry", Label: "Retry", Icon: "rotate-cw", URL: links.JobAction("FB-12", "retry")}}},
		{Key: "FB-136", Title: "Drain a factory without losing leases", URL: links.Job("FB-136"), Status: status.InReview, What: "Review", Place: "fleetboard · M2",
			Since: ui.For(ago(130*time.Minute), Noon), Link: &needsyou.Link{Label: "Review", Icon: "eye", URL: links.ReviewJob("FB-136", ""), Main: true}},
		{Key: "FB-151", Title: "Rotate the signing key", URL: links.Job("FB-151"), Status: status.Blocked, What: "Question", Place: "ledger-api",
			Since: ui.For(ago(12*time.Minute), Noon), Version: 4, Question: &needsyou.Question{Agent: "claude-2", Text: "Is 24 hours of overlap enough, or 48?", URL: links.JobAction("FB-151", "answer")}},
	}}
}

func samplePalette() palette.Results {
	return palette.Results{Query: "reaper", Groups: []palette.Group{
		{Title: "Jobs", Rows: []palette.Row{
			{URL: links.Job("FB-142"), Status: status.Running, Percent: 62, Key: "FB-142", Text: "Fix flaky TestReaper under -race", Note: "claude-2 · mac-1"},
			{URL: links.Job("FB-98"), Status: status.Completed, Key: "FB-98", Text: "Reaper: one guarded update", Note: "12 Nov"},
		}},
		{Title: "Go to", Rows: []palette.Row{{URL: links.NewJob, Icon: "plus", Text: "New job", Keys: []string{"C"}}}},
	}}
}

// samplePages returns all pages in all their forms, by name.
func samplePages(theme layout.Theme) map[string]templ.Component {
	shell := func(s layout.Section, title string) layout.Shell {
		sh := Shell(s, title)
		sh.Theme = theme
		return sh
	}
	nine := shell(layout.SectionBoard, "Board (9 running)")
	toasted := nine
	toasted.Toasts = []ui.Toast{{Tone: ui.OK, Title: "FB-162 created", Text: "It starts at once on linux-2.", ActionLabel: "Open", ActionURL: links.Job("FB-162")}, {Tone: ui.Bad, Title: "The job was not moved", Text: "It has changed meanwhile.", RequestID: "req_8fk2"}}
	form := shell(layout.SectionNewJob, "New job")
	form.LiveURL = ""
	seen := firstRun
	seen.Factory, seen.Agent, seen.Offers = "mac-1", "agent-1", []ui.FirstRunOffer{{Label: "Repos", Text: "fleetboard-demo"}, {Label: "Seats", Text: "1"}}
	return map[string]templ.Component{
		"board":        board.View(board.Page{Shell: nine, Board: Board()}),
		"board-empty":  board.View(board.Page{Shell: toasted, Board: EmptyBoard()}),
		"first-run":    board.View(board.Page{Shell: nine, Board: board.Board{CanWrite: true, FirstRun: &firstRun}}),
		"first-seen":   board.View(board.Page{Shell: nine, Board: board.Board{CanWrite: true, FirstRun: &seen}}),
		"column":       board.ColumnView(nine, Board().Columns[4]),
		"job":          job.View(job.Page{Shell: shell("", "FB-142"), Job: sampleJob(), Log: sampleLog, Transcript: sampleTranscript()}),
		"transcript":   job.TranscriptView(job.TranscriptPage{Shell: shell("", "FB-142"), Title: "Fix flaky TestReaper", Transcript: sampleTranscript()}),
		"job-waiting":  job.View(job.Page{Shell: shell("", "FB-151"), Job: waitingJob(), Log: sampleLog, Transcript: sampleTranscript()}),
		"job-done":     job.View(job.Page{Shell: shell("", "FB-142"), Job: doneJob(), Log: sampleLog, Transcript: sampleTranscript()}),
		"new-job":      jobform.View(jobform.Page{Shell: form, Form: sampleForm()}),
		"new-job-bad":  jobform.View(jobform.Page{Shell: form, Form: badForm()}),
		"new-job-copy": jobform.View(jobform.Page{Shell: form, Form: copiedForm()}),
		"edit-job":     jobform.EditView(jobform.Page{Shell: form, Form: editForm()}),
		"agents":       agents.View(shell(layout.SectionAgents, "Agents"), sampleAgents()),
		"review":       review.View(shell(layout.SectionReview, "Review (2)"), sampleReview()),
		"review-empty": review.View(shell(layout.SectionReview, "Review"), review.Review{Count: "nothing waits for a decision"}),
		"needs-you":    needsyou.View(shell(layout.SectionNeedsYou, "Needs you"), sampleNeeds()),
		"needs-none":   needsyou.View(shell(layout.SectionNeedsYou, "Needs you"), needsyou.Needs{}),
		"agents-none":  agents.View(shell(layout.SectionAgents, "Agents"), agents.Agents{Count: "no factory yet", FirstRun: firstRun}),
		"login":        login.LoginView(login.Login{Theme: theme}),
		"login-bad":    login.LoginView(login.Login{Theme: theme, Email: "mara@kestrel-labs.example", Error: "E-mail and password do not belong together."}),
		"setup":        login.SetupView(login.Setup{Theme: theme, URL: links.Setup("abc"), Errors: map[string]string{"password": "At least 12 characters."}}),
		"error-404":    layout.ErrorView(layout.ErrorPage{Shell: &nine, Code: 404, RequestID: "req_8fk2"}),
		"error-500":    layout.ErrorView(layout.ErrorPage{Theme: theme, Code: 500, RequestID: "req_8fk2"}),
	}
}
