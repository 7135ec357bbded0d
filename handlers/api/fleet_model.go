package api

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Agent is an agent on the wire.
type Agent struct {
	fleet.Agent
	BootID *string `json:"boot_id,omitempty"`
}

// Factory is a factory on the wire.
type Factory struct {
	fleet.Factory
	Agents          []Agent      `json:"agents"`
	LastHeartbeatAt *time.Time   `json:"last_heartbeat_at"`
	Live            bool         `json:"live"`
	Offers          []string     `json:"offers"`
	SeatsFree       int          `json:"seats_free"`
	State           FactoryState `json:"state"`
}

type (
	// AgentPage is a page of agents.
	AgentPage = part[Agent]
	// FactoryPage is a page of factories.
	FactoryPage = part[Factory]
	// Registered is an agent and its token.
	Registered struct {
		Agent          Agent     `json:"agent"`
		Token          string    `json:"token"`
		TokenExpiresAt time.Time `json:"token_expires_at"`
	}
)

// fleetOf says how agents and factories are shown to somebody: boot ids, by which a
// process is known, to whoever runs the fleet.
type fleetOf struct{ who tenancy.Principal }

func (s fleetOf) agent(a fleet.Agent) Agent {
	a.Roles, a.Capabilities = list(a.Roles), list(a.Capabilities)
	out := Agent{Agent: a}
	if s.who.Can(tenancy.RunFleet) {
		out.BootID = &a.BootID
	}
	return out
}

func (s fleetOf) factory(f fleet.Factory) Factory {
	f.Engines, f.Capabilities, f.Repos = list(f.Engines), list(f.Capabilities), list(f.Repos)
	f.Unavailable, f.Rescued = list(f.Unavailable), list(f.Rescued)
	return Factory{Factory: f, Offers: list(f.Offers()), SeatsFree: f.Free(), State: factoryState(f), Live: f.Live(),
		Agents: mapSlice(f.Agents, s.agent), LastHeartbeatAt: nilIfZero(f.LastBeatAt)}
}

func factoryState(f fleet.Factory) FactoryState {
	switch {
	case f.Live():
		return FactoryStateLive
	case f.Health == fleet.Ended:
		return FactoryStateEnded
	}
	return FactoryStateDead
}

func unavailableModel(u fleet.Unavailable) Unavailable {
	return Unavailable{Kind: UnavailableKind(u.Kind), Name: u.Name, Reason: u.Reason, Since: u.Since}
}

// listAgents returns all agents of a fleet.
func listAgents(snap fleet.Snapshot) []fleet.Agent {
	var all []fleet.Agent
	for _, f := range snap.Factories {
		all = append(all, f.Agents...)
	}
	return all
}

func healthModel(a fleet.Agent, snap fleet.Snapshot) AgentHealth {
	return AgentHealth{Agent: a.Name, Health: Health(a.Health), AgeSeconds: snap.Now.Sub(a.LastHeartbeatAt).Seconds(),
		LastHeartbeatAt: a.LastHeartbeatAt.UTC(), NextExpectedAt: a.NextBeat().UTC()}
}

func routabilityModel(r fleet.Routing) Routability {
	return Routability{Routable: len(r.Eligible) > 0, EligibleFactories: eligible(r), IneligibleFactories: ineligible(r)}
}

func eligible(r fleet.Routing) []string {
	names := make([]string, 0, len(r.Eligible))
	for _, fit := range r.Eligible {
		names = append(names, fit.Factory.Name)
	}
	return names
}

func ineligible(r fleet.Routing) []Misfit {
	misfits := make([]Misfit, 0, len(r.Ineligible))
	for _, fit := range r.Ineligible {
		misfits = append(misfits, Misfit{Factory: fit.Factory.Name, Missing: list(fit.Missing), Reason: fit.Reason,
			Unavailable: mapSlice(fit.Unavailable, unavailableModel)})
	}
	return misfits
}

func registration(agent string, in Registration) fleet.Registration {
	return fleet.Registration{
		Agent: agent, Model: value(in.Model), Provider: value(in.Provider), Capabilities: value(in.Capabilities),
		MaxConcurrentJobs:        value(in.MaxConcurrentJobs),
		HeartbeatIntervalSeconds: value(in.HeartbeatIntervalSeconds), StaleAfterSeconds: in.StaleAfterSeconds,
		Factory: factoryInfo(in.Factory), BootID: in.BootID, Roles: value(in.Roles),
	}
}

func factoryInfo(in FactoryInfo) fleet.FactoryInfo {
	out := fleet.FactoryInfo{Name: in.Name, OS: value(in.OS), Host: value(in.Host), Engines: value(in.Engines),
		Capabilities: value(in.Capabilities), Seats: value(in.Seats), Pool: value(in.Pool)}
	for _, r := range value(in.Repos) {
		out.Repos = append(out.Repos, fleet.Repo{Name: r.Name, URL: value(r.URL), DefaultBranch: value(r.DefaultBranch)})
	}
	for _, u := range value(in.Unavailable) {
		out.Unavailable = append(out.Unavailable, fleet.Unavailable{Kind: string(u.Kind), Name: u.Name, Reason: u.Reason,
			Since: u.Since.UTC()})
	}
	for _, r := range value(in.Rescued) {
		out.Rescued = append(out.Rescued, fleet.Rescued{Name: r.Name, Path: r.Path, Why: r.Why, Since: r.Since.UTC()})
	}
	return out
}

func beat(agent string, in Heartbeat) (report.Heartbeat, error) {
	out := report.Heartbeat{Agent: agent, BootID: in.BootID, Status: string(in.Status), MemoryMB: in.MemoryMB, CPUPercent: in.CPUPercent}
	if in.Factory != nil {
		info := factoryInfo(*in.Factory)
		out.Factory = &info
	}
	for _, l := range value(in.Leases) {
		checkpoint, err := parseCheckpoint(l.Checkpoint, l.CheckpointBlob)
		if err != nil {
			return out, err
		}
		out.Leases = append(out.Leases, report.HeartbeatLease{Job: l.Job, Epoch: l.Epoch, ProgressPercent: l.ProgressPercent,
			CurrentStep: l.CurrentStep, Checkpoint: checkpoint, Files: value(l.FilesTouched)})
	}
	return out, nil
}

func beatAnswerModel(in report.HeartbeatResult) HeartbeatAnswer {
	out := HeartbeatAnswer{Now: in.Now.UTC(), IntervalSeconds: in.IntervalSeconds, QueueVersion: in.QueueVersion,
		Leases: []LeaseStanding{}}
	if in.Token != "" {
		out.Token, out.TokenExpiresAt = &in.Token, utcOrNil(&in.TokenExpiresAt)
	}
	if offers := offerModels(in.Offers); len(offers) > 0 {
		out.Offers = &offers
	}
	for _, l := range in.Leases {
		out.Leases = append(out.Leases, LeaseStanding{Job: l.Job, Epoch: l.Epoch, Directive: Directive(l.Directive),
			Reason: nilIfZero(l.Reason), ExpiresAt: utcOrNil(l.ExpiresAt), Answer: nilIfZero(l.Answer),
			FilesDropped: nilIfZero(l.FilesDropped)})
	}
	return out
}

func offerModels(in []lease.Offered) []Offer {
	list := make([]Offer, 0, len(in))
	for _, o := range in {
		list = append(list, Offer{Job: o.Job, ExpiresAt: o.ExpiresAt.UTC(), Score: o.Score})
	}
	return list
}

func toStanding(in lease.Status) Standing {
	return Standing{Directive: Directive(in.Directive), Reason: nilIfZero(in.Reason), ExpiresAt: utcOrNil(in.ExpiresAt),
		Answer: nilIfZero(in.Answer), LinesLeftOut: nilIfZero(in.LinesLeftOut), FilesDropped: nilIfZero(in.FilesDropped),
		StepsLeftOut: nilIfZero(in.StepsLeftOut), NextStep: nilIfZero(in.NextStep)}
}
