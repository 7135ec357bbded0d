package decision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

var q = dbsqlc.New()

// agentsTx reads the agents that are compared, and when that was.
func agentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, asking []ids.ID) (at time.Time, list []Agent, err error) {
	rows, err := q.ScoreFleet(ctx, tx, workspace, asking, maxAgents, score.MaxCandidates)
	for _, r := range rows {
		a, err := agentFrom(r)
		if err != nil {
			return at, nil, fmt.Errorf("factory %s: %w", r.Factory, err)
		}
		at, list = r.Now, append(list, a)
	}
	return at, list, err
}

func agentFrom(r dbsqlc.ScoreFleetRow) (Agent, error) {
	var repos []fleet.Repo
	if err := json.Unmarshal(r.Repos, &repos); err != nil {
		return Agent{}, err
	}
	var unavailable []fleet.Unavailable
	if err := json.Unmarshal(r.Unavailable, &unavailable); err != nil {
		return Agent{}, err
	}
	own := slices.Concat(r.FactoryCapabilities, r.Capabilities)
	if r.Follows >= fleet.MaxFollowed {
		own = slices.DeleteFunc(own, func(token string) bool { return token == fleet.OpensPullRequests })
	}
	tokens := fleet.Within(tenancy.Scope{Capabilities: r.Scope}, fleet.Offers(r.Os, r.Engines, own, repos))
	a := Agent{User: budgeting.User{Model: prices.Model{Provider: r.Provider, Name: r.Model}, Engines: r.Engines},
		id: r.AgentID, factory: r.FactoryID, offer: fleet.Offer{Factory: r.Factory, Tokens: tokens,
			Who: distinct.Agent{Name: r.Agent, Model: r.Model, Provider: r.Provider}}, products: r.Products,
		held: r.Held, free: r.Seats - r.Taken, seats: r.FactorySeats, taken: r.FactoryTaken}
	switch {
	case r.Draining || r.Ending:
		a.out = score.Draining
	case !(fleet.Factory{Health: fleet.Healthy, Engines: r.Engines, Unavailable: unavailable}).TakesJobs():
		a.out = score.NoEngine
	}
	return a, nil
}

// recordsTx reads what the agents' factories did lately, by factory.
func recordsTx(ctx context.Context, tx db.Tx, workspace ids.ID, agents []Agent) (map[ids.ID]record, error) {
	var agentIDs, factories []ids.ID
	for _, a := range agents {
		agentIDs, factories = append(agentIDs, a.id), append(factories, a.factory)
	}
	rows, err := q.ScoreHistory(ctx, tx, agentIDs, factories, workspace, maxEnds)
	byFactory := map[ids.ID]record{}
	for _, r := range rows {
		did, known := byFactory[r.FactoryID]
		if !known {
			did.worked = map[string]time.Duration{}
		}
		did.completed, did.failed, did.lost = did.completed+r.Completed, did.failed+r.Failed, did.lost+r.Lost
		if r.Repo != "" {
			did.worked[r.Repo] = seconds(r.Ago)
		}
		byFactory[r.FactoryID] = did
	}
	return byFactory, err
}

// NeedsOfLane returns what the jobs of a lane need, and the factory that they are bound to.
type NeedsOfLane func(lane int64) (needs []string, factory string, err error)

// JobsTx reads what is compared of jobs, by their ids.
func JobsTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID, needs NeedsOfLane) (map[ids.ID]Job, error) {
	rows, err := q.ScoreJobs(ctx, tx, workspace, maxEnds, list)
	if err != nil {
		return nil, err
	}
	byID := make(map[ids.ID]Job, len(rows))
	for _, r := range rows {
		j := Job{ID: r.ID, Key: r.Key, ProductID: r.ProductID, Lane: r.LaneID, Version: r.Version, Epoch: r.Epoch, Phase: r.Phase,
			Job: score.Job{Product: r.Product, Repo: r.Repo, Tier: r.Tier, Waiting: seconds(r.Waiting)}}
		if j.Needs, j.Factory, err = needs(r.LaneID); err != nil {
			return nil, err
		}
		if j.TierBy, err = tiers(r.Models); err != nil {
			return nil, err
		}
		if j.Attempts, err = attempts(r.Attempts); err != nil {
			return nil, err
		}
		byID[r.ID] = j
	}
	return byID, nil
}

// tiers returns which tiers engines and models are good for, by the table of a product.
func tiers(models json.RawMessage) (map[string][]string, error) {
	if len(models) <= len("{}") {
		return nil, nil //nolint:nilnil // no table, no tiers
	}
	var table tiermodel.Table
	if err := json.Unmarshal(models, &table); err != nil {
		return nil, fmt.Errorf("models of a product: %w", err)
	}
	by := map[string][]string{}
	for engine, models := range table {
		for tier, model := range models {
			by[engine], by[model] = append(by[engine], tier), append(by[model], tier)
		}
	}
	return by, nil
}

func attempts(text json.RawMessage) ([]score.Attempt, error) {
	if len(text) <= len("[]") {
		return nil, nil
	}
	var rows []struct {
		Factory string  `json:"factory"`
		Ago     float64 `json:"ago"`
		Bad     bool    `json:"bad"`
	}
	err := json.Unmarshal(text, &rows)
	var list []score.Attempt
	for _, r := range rows {
		list = append(list, score.Attempt{Factory: r.Factory, Ago: seconds(r.Ago), Bad: r.Bad})
	}
	return list, err
}

// WriteTx keeps decisions of one snapshot about jobs that have got a lease in this transaction.
func WriteTx(ctx context.Context, tx db.Tx, workspace ids.ID, mode string, list []Decision) error {
	if len(list) == 0 {
		return nil
	}
	p := dbsqlc.DecisionInsertParams{WorkspaceID: workspace, Mode: mode, SnapshotAt: list[0].Snapshot}
	for _, d := range list {
		text, err := json.Marshal(d.Candidates)
		if err != nil {
			return err
		}
		p.JobIds, p.Chosen, p.ChosenBy = append(p.JobIds, d.job), append(p.Chosen, d.Chosen), append(p.ChosenBy, d.By)
		p.Best, p.Classes, p.Why = append(p.Best, d.Best), append(p.Classes, string(d.Class)), append(p.Why, d.Why)
		p.Candidates = append(p.Candidates, string(text))
	}
	return q.DecisionInsert(ctx, tx, p)
}

// decisionsTx reads the decisions about a job, the newest first.
func decisionsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]Decision, error) {
	rows, err := q.DecisionsOfJob(ctx, tx, workspace, job, maxDecisions)
	if err != nil {
		return nil, err
	}
	list := make([]Decision, 0, len(rows))
	for _, r := range rows {
		d := Decision{Epoch: r.Epoch, At: r.At, Mode: r.Mode, Chosen: r.Chosen, By: r.ChosenBy, Best: r.Best, Class: Class(r.Class),
			Why: r.Why, Snapshot: r.SnapshotAt, job: job}
		if err := json.Unmarshal(r.Candidates, &d.Candidates); err != nil {
			return nil, fmt.Errorf("candidates of a decision: %w", err)
		}
		list = append(list, d)
	}
	return list, nil
}

// divergenceTx reads the counts and examples of the newest decisions since a time.
func divergenceTx(ctx context.Context, tx db.Tx, workspace ids.ID, since time.Time) (Divergence, error) {
	d := Divergence{Since: since, Classes: map[Class]int{}, Examples: []Example{}}
	for _, c := range Classes {
		d.Classes[c] = 0
	}
	counts, err := q.DecisionCounts(ctx, tx, workspace, since, MaxCounted)
	if err != nil {
		return d, err
	}
	for _, c := range counts {
		d.Classes[Class(c.Class)] = c.Decisions
		d.Decisions += c.Decisions
	}
	rows, err := q.DecisionExamples(ctx, tx, workspace, since, MaxCounted, maxExamples)
	for _, r := range rows {
		d.Examples = append(d.Examples, Example{Job: r.Key, At: r.At, Epoch: r.Epoch, Pulled: r.Chosen, Scored: r.Best,
			Class: Class(r.Class), Why: r.Why})
	}
	return d, err
}
