package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Change is a decision about a locked job, and who makes it.
type Change struct {
	Who tenancy.Principal
	Decision
}

// SaveTx writes a decision: the job's state, its row in job_ready, its repo's
// slot and one event. A change of status that the table of status.go does not name
// is refused. A job that would become ready waits instead where something
// holds it (see admission); a promotion that would end in the waiting it came from
// is not written, and gives the job as it was. It is refused with InvalidTransition
// where the job's status or epoch is no longer what was decided on. The saved job
// is returned.
func SaveTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d Decision) (Job, error) {
	saved, err := SaveManyTx(ctx, tx, who.Workspace, []Change{{who, d}})
	if err != nil {
		return Job{}, err
	}
	return saved[0], nil
}

// SaveManyTx is SaveTx for decisions about different jobs of one workspace, which
// are returned in the same order. Where one is refused nothing may be committed. No
// two of them may compete for the slot of a repo.
func SaveManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Change) ([]Job, error) {
	a := admission{ctx: ctx, tx: tx, workspace: workspace}
	result := make([]Job, len(list))
	write := make([]Change, 0, len(list))
	var at []int
	for i, s := range list {
		s.After.NotBefore = keepable(s.After.NotBefore)
		d, err := a.admit(s.Decision)
		if err != nil {
			return nil, err
		}
		if d.isIdle() {
			result[i] = d.Before
			continue
		}
		if d.Before.Status != d.After.Status && !Allowed(d.Before.Status, d.By, d.After.Status) {
			return nil, d.Before.Refuse(d.By)
		}
		write, at = append(write, Change{s.Who, d}), append(at, i)
	}
	saved, err := writeTx(ctx, tx, workspace, write)
	if err != nil {
		return nil, err
	}
	for i, j := range saved {
		result[at[i]] = j
	}
	return result, a.takeSlots()
}

// jobRow is a decision as JobsSave takes it.
type jobRow struct {
	ID                  ids.ID             `json:"id"`
	FromStatus          Status             `json:"from_status"`
	FromEpoch           int64              `json:"from_epoch"`
	Title               string             `json:"title"`
	Phase               string             `json:"phase"`
	Priority            int                `json:"priority"`
	Tags                []string           `json:"tags"`
	Capabilities        []string           `json:"capabilities"`
	Factory             string             `json:"factory"`
	Repo                string             `json:"repo"`
	ProductID           ids.ID             `json:"product_id"`
	LaneID              int64              `json:"lane_id"`
	EstimatedComplexity string             `json:"estimated_complexity"`
	EstimatedMinutes    *int               `json:"estimated_minutes"`
	TokenBudget         *int64             `json:"token_budget"`
	Status              Status             `json:"status"`
	WaitReason          WaitReason         `json:"wait_reason"`
	BlockedReason       string             `json:"blocked_reason"`
	Question            string             `json:"question"`
	Answer              string             `json:"answer"`
	WaitsForChildren    bool               `json:"waits_for_children"`
	Attempts            int                `json:"attempts"`
	FailureCount        int                `json:"failure_count"`
	LostCount           int                `json:"lost_count"`
	LastError           string             `json:"last_error"`
	Feedback            string             `json:"feedback"`
	ProgressPercent     *int               `json:"progress_percent"`
	CurrentStep         string             `json:"current_step"`
	Checkpoint          json.RawMessage    `json:"checkpoint"`
	Result              json.RawMessage    `json:"result"`
	Files               []string           `json:"files"`
	FilesTouched        []string           `json:"files_touched"`
	FailureKind         FailureKind        `json:"failure_kind"`
	ApprovedHead        string             `json:"approved_head"`
	MergedCommit        string             `json:"merged_commit"`
	URL                 string             `json:"url"`
	NotBefore           *time.Time         `json:"not_before"`
	Actor               string             `json:"actor"`
	ActorKind           tenancy.Kind       `json:"actor_kind"`
	ActorID             string             `json:"actor_id"`
	CarriedOutBy        *tenancy.Actor     `json:"carried_out_by"`
	EventType           eventlog.Type      `json:"event_type"`
	Changes             json.RawMessage    `json:"changes"`
	Payload             json.RawMessage    `json:"payload"`
	Contents            []eventlog.Content `json:"contents,omitempty"`
}

// actors are who decided, and who carries it out where that is somebody else. Of
// two loops only the one that decided is named.
func (s Change) actors() (decided tenancy.Actor, carriedOut *tenancy.Actor) {
	who, by := s.Who.Actor(), s.DecidedBy
	if by == (tenancy.Actor{}) || by.Is(who) {
		return who, nil
	}
	if by.Kind == tenancy.KindSystem && who.Kind == tenancy.KindSystem {
		return by, nil
	}
	return by, &who
}

// payload is what the event says beside the changes.
func (s Change) payload(carriedOut *tenancy.Actor) map[string]any {
	if carriedOut == nil {
		return s.Payload
	}
	said := maps.Clone(s.Payload)
	said["carried_out_by"] = *carriedOut
	return said
}

func (s Change) row() (jobRow, error) {
	by, carriedOut := s.actors()
	stored, err := eventlog.Encode(s.changes(), s.payload(carriedOut))
	a := s.After
	return jobRow{
		ID: a.ID, FromStatus: s.Before.Status, FromEpoch: s.Before.Epoch, Title: a.Title, Phase: a.Phase, Priority: a.Priority,
		Tags: orEmpty(a.Tags), Capabilities: orEmpty(a.Capabilities), Factory: a.Factory, Repo: a.Repo, ProductID: a.ProductID,
		LaneID: a.LaneID, EstimatedComplexity: a.EstimatedComplexity, EstimatedMinutes: a.EstimatedMinutes,
		TokenBudget: a.TokenBudget,
		Status:      a.Status, WaitReason: a.WaitReason, BlockedReason: a.BlockedReason, Question: a.Question, Answer: a.Answer,
		WaitsForChildren: a.WaitsForChildren, Attempts: a.Attempts, FailureCount: a.FailureCount, LostCount: a.LostCount,
		LastError: a.LastError, Feedback: a.Feedback, ProgressPercent: a.ProgressPercent, CurrentStep: a.CurrentStep,
		Checkpoint: a.Checkpoint, Result: a.Result, NotBefore: a.NotBefore,
		Files: orEmpty(a.Files), FilesTouched: orEmpty(a.FilesTouched), FailureKind: a.FailureKind,
		ApprovedHead: a.ApprovedHead, MergedCommit: a.MergedCommit, URL: a.URL,
		Actor: by.Name, ActorKind: by.Kind, ActorID: by.ID, CarriedOutBy: carriedOut,
		EventType: s.Type, Changes: stored.Changes, Payload: stored.Payload, Contents: stored.Contents,
	}, err
}

// writeTx writes decisions as they are, and returns the jobs in the same order.
func writeTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Change) ([]Job, error) {
	if len(list) == 0 {
		return nil, nil
	}
	params := dbsqlc.JobsSaveParams{WorkspaceID: workspace}
	rows := make([]jobRow, 0, len(list))
	for _, s := range list {
		row, err := s.row()
		if err != nil {
			return nil, err
		}
		rows, params.Ids = append(rows, row), append(params.Ids, row.ID)
	}
	var err error
	if params.Decisions, err = json.Marshal(rows); err != nil {
		return nil, fmt.Errorf("encode decisions: %w", err)
	}
	written, err := q.JobsSave(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("save jobs: %w", err)
	}
	found := make(map[ids.ID]dbsqlc.JobsSaveRow, len(written))
	for _, w := range written {
		found[w.ID] = w
	}
	saved := make([]Job, 0, len(list))
	for _, s := range list {
		w, ok := found[s.After.ID]
		if !ok {
			return nil, fault.New(fault.InvalidTransition, "%s was changed at the same moment. Look again.", s.Before.Key)
		}
		saved = append(saved, s.written(w))
	}
	return saved, nil
}

// written is the job as a read gives it now: version and times are what the
// statement has set.
func (s Change) written(w dbsqlc.JobsSaveRow) Job {
	j := s.After
	if by, carriedOut := s.actors(); s.Before.Status != j.Status {
		j.StatusBy, j.CarriedOutBy = by, orDefault(carriedOut, tenancy.Actor{})
	}
	j.Version, j.StatusAt, j.UpdatedAt = int(w.Version), w.StatusAt, w.UpdatedAt
	j.ReadyAt, j.StartedAt, j.CompletedAt, j.FailedAt = w.ReadyAt, w.StartedAt, w.CompletedAt, w.FailedAt
	return j
}
