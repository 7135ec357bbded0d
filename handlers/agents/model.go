package agents

import (
	"slices"
	"strconv"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// pageData is what the page of agents is made of.
type pageData struct {
	snap     fleet.Snapshot
	leased   []jobs.Job // all that somebody works on
	canRun   bool
	filter   links.AgentsFilter
	firstRun ui.FirstRun
}

func (s pageData) model() view.Agents {
	held := map[ids.ID][]jobs.Job{}
	for _, j := range s.leased {
		if j.Lease != nil {
			held[j.Lease.AgentID] = append(held[j.Lease.AgentID], j)
		}
	}
	m := view.Agents{Count: web.AgentsCount(s.snap), CanRun: s.canRun, FirstRun: s.firstRun}
	for _, f := range web.LiveFirst(s.snap) {
		m.Factories = append(m.Factories, s.factory(f, held))
	}
	narrow(&m, s.snap, s.filter)
	return m
}

func (s pageData) factory(f fleet.Factory, held map[ids.ID][]jobs.Job) view.Factory {
	m := view.Factory{Name: f.Name, About: web.FactoryAbout(f), Pips: web.SeatPips(f), SeatsText: web.SeatsText(f),
		Draining: f.Draining, Dead: f.Health == fleet.Dead, Ended: f.Health == fleet.Ended,
		Caps: f.Capabilities, Note: drainNote(f, web.Now(s.snap))}
	if m.Dead {
		m.DeadSince = ui.Day(f.LastBeatAt)
	}
	if m.Ended {
		m.EndedAt = ui.Ago(*f.EndedAt, web.Now(s.snap))
	}
	m.Troubles, m.More = troubles(f, web.Now(s.snap))
	for _, r := range f.Repos {
		m.Repos = append(m.Repos, r.Name)
	}
	switch {
	case !s.canRun:
	case !f.Live() && removable(f, held):
		m.Remove = links.RemoveFactory(f.Name)
	case f.Draining:
		m.Undrain = links.Undrain(f.Name)
	case f.Live():
		m.DrainURL = links.Drain(f.Name)
	}
	for _, a := range f.Agents {
		m.Agents = append(m.Agents, s.agent(a, held[a.ID]))
	}
	return m
}

// removable reports whether neither the factory nor one of its agents has a lease.
func removable(f fleet.Factory, held map[ids.ID][]jobs.Job) bool {
	return f.Taken == 0 && !slices.ContainsFunc(f.Agents, func(a fleet.Agent) bool { return len(held[a.ID]) > 0 })
}

func drainNote(f fleet.Factory, now time.Time) ui.Sentence {
	if !f.Draining {
		return nil
	}
	text := ui.Text("Drained")
	if f.DrainedBy != "" {
		text = append(text, ui.T(" by "+f.DrainedBy))
	}
	if f.DrainedAt != nil {
		text = append(text, ui.T(" "), ui.Moment(ui.Ago(*f.DrainedAt, now)))
	}
	return append(text, ui.T(". No new claims, current jobs may end."))
}

func (s pageData) agent(a fleet.Agent, held []jobs.Job) view.Agent {
	now := web.Now(s.snap)
	m := view.Agent{Name: a.Name, Model: a.Model, Beat: ui.For(a.LastHeartbeatAt, now), CPU: -1, Leaves: leavesText(held),
		Caps: a.Capabilities, Idle: a.TakesJobs() && len(held) == 0}
	_, m.BeatTone = jobparts.HeartbeatTones(a.Health)
	if a.CPUPercent != nil {
		m.CPU = int(*a.CPUPercent + 0.5)
	}
	if a.MemoryMB != nil {
		m.Memory = memoryText(*a.MemoryMB)
	}
	slices.SortFunc(held, func(x, y jobs.Job) int { return x.Lease.ClaimedAt.Compare(y.Lease.ClaimedAt) })
	for _, j := range held {
		m.Jobs = append(m.Jobs, agentJob(j, now))
	}
	agentState(&m, a, held, now)
	if s.canRun && !a.Terminated && !a.HasEnded {
		m.Terminate = links.Terminate(a.Name)
	}
	if s.canRun && !a.CutOff {
		m.CutOff = links.CutOff(a.Name)
	}
	return m
}

// agentState fills in the word and the mark of what an agent does.
func agentState(m *view.Agent, a fleet.Agent, held []jobs.Job, now time.Time) {
	mark := func(word, icon string, tone ui.Tone) { m.State, m.Icon, m.Tone = word, icon, tone }
	late := slices.ContainsFunc(m.Jobs, func(j view.AgentJob) bool { return j.ProgressLate })
	switch {
	case a.CutOff:
		mark("Cut off", "unplug", ui.Plain)
	case a.HasEnded, a.Terminated && len(held) == 0:
		mark("Ended", "power", ui.Plain)
	case a.Terminated:
		mark("Ending", "power", ui.Warn)
	case a.Health == fleet.Dead:
		mark("Dead", "unplug", ui.Bad)
	case a.Health != fleet.Healthy:
		mark("Late", "clock-alert", ui.Warn)
	case a.HeldUntil != nil && len(held) == 0:
		mark("Rate limited", "timer-reset", ui.Warn)
		m.HeldUntil = ui.Until(*a.HeldUntil, now)
	case late:
		mark("No progress", "triangle-alert", ui.Warn)
	case a.Status == "blocked" && len(held) == 0:
		mark("Blocked", "circle-pause", ui.Warn)
	case len(held) == 0:
		m.State, m.Glyph = "Idle", jobs.Ready
	case jobparts.ShownStatus(held[0]) != held[0].Status:
		m.Glyph = jobparts.ShownStatus(held[0])
		m.State = m.Glyph.Word()
	case held[0].Status == jobs.Assigned:
		m.State, m.Glyph = "Starting", jobs.Assigned
	default:
		m.State, m.Glyph = "Working", jobs.Running
	}
	m.Attention = m.Icon != "" && !a.Terminated && !a.HasEnded
}

func agentJob(j jobs.Job, now time.Time) view.AgentJob {
	m := view.AgentJob{Key: j.Key, Title: j.Title, URL: links.Job(j.Key), Percent: web.Percent(j.ProgressPercent),
		Lease: ui.Left(j.Lease.ExpiresAt, now)}
	if j.ProgressAt != nil {
		m.Progress = ui.For(*j.ProgressAt, now)
		m.ProgressLate = now.Sub(*j.ProgressAt) >= jobparts.LateProgress
	}
	return m
}

// leavesText returns what happens to an agent's jobs when it ends at once.
func leavesText(held []jobs.Job) string {
	keys := make([]string, len(held))
	for i, j := range held {
		keys[i] = j.Key
	}
	switch len(keys) {
	case 0:
		return ""
	case 1:
		return keys[0] + " goes back to Ready."
	default:
		return strings.Join(keys[:min(len(keys), web.MaxListed)], ", ") + moreText(len(keys)-web.MaxListed) + " go back to Ready."
	}
}

func moreText(n int) string {
	if n <= 0 {
		return ""
	}
	return " and " + strconv.Itoa(n) + " more"
}

func memoryText(mb int) string {
	if mb < 1000 {
		return strconv.Itoa(mb) + " MB"
	}
	return strconv.FormatFloat(float64(mb)/1024, 'f', 1, 64) + " GB"
}
