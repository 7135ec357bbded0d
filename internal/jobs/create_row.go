package jobs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
)

// rows are the arrays that the new jobs are inserted from.
func (c *creation) rows() (dbsqlc.JobInsertParams, error) {
	p := dbsqlc.JobInsertParams{WorkspaceID: c.who.Workspace, CreatedBy: c.who.Name, ActorKind: string(c.who.Kind),
		ActorID: c.who.Actor().ID}
	for _, j := range c.list {
		addState(&p, j)
		if err := addText(&p, j); err != nil {
			return p, err
		}
	}
	return p, nil
}

// addState adds what stands in the job's own row. Ranges were checked by validate.
func addState(p *dbsqlc.JobInsertParams, j Job) {
	p.Ids, p.ProductIds = append(p.Ids, j.ID.String()), append(p.ProductIds, j.ProductID.String())
	p.Keys, p.Titles, p.Kinds = append(p.Keys, j.Key), append(p.Titles, j.Title), append(p.Kinds, j.Kind)
	p.Repos, p.Phases = append(p.Repos, j.Repo), append(p.Phases, j.Phase)
	p.Priorities = append(p.Priorities, int16(j.Priority)) //nolint:gosec // 0..10
	p.Capabilities, p.Factories = append(p.Capabilities, literal(j.Capabilities)), append(p.Factories, j.Factory)
	p.LaneIds, p.Tags = append(p.LaneIds, j.LaneID), append(p.Tags, literal(j.Tags))
	p.Files = append(p.Files, literal(j.Files))
	p.Statuses, p.WaitReasons = append(p.Statuses, string(j.Status)), append(p.WaitReasons, string(j.WaitReason))
	p.MaxRetries = append(p.MaxRetries, int32(j.MaxRetries))                            //nolint:gosec // 0..100
	p.MaxLost = append(p.MaxLost, int32(j.MaxLost))                                     //nolint:gosec // 0..100
	p.RetryBackoffSeconds = append(p.RetryBackoffSeconds, int32(j.RetryBackoffSeconds)) //nolint:gosec // at most a day
	p.ReviewRequired = append(p.ReviewRequired, optionalText(j.ReviewOverride, strconv.FormatBool))
	p.EstimatedComplexity = append(p.EstimatedComplexity, j.EstimatedComplexity)
	p.EstimatedMinutes = append(p.EstimatedMinutes, orDefault(db.Int32(j.EstimatedMinutes), 0))
	p.TokenBudgets = append(p.TokenBudgets, orDefault(j.TokenBudget, 0))
	p.NotBefore = append(p.NotBefore, optionalText(j.NotBefore, func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }))
	p.IdempotencyKeys = append(p.IdempotencyKeys, j.IdempotencyKey)
	p.WaitsForChildren = append(p.WaitsForChildren, j.WaitsForChildren)
}

// addText adds what people wrote at length, and the event.
func addText(p *dbsqlc.JobInsertParams, j Job) error {
	acceptance, err := json.Marshal(j.Acceptance)
	if err != nil {
		return fmt.Errorf("encode acceptance: %w", err)
	}
	stored, err := eventlog.Encode(j.beginning(), map[string]any{"title": j.Title})
	if err != nil {
		return err
	}
	p.Bodies, p.Acceptances = append(p.Bodies, j.Body), append(p.Acceptances, string(acceptance))
	p.InputContexts, p.SecretKeys = append(p.InputContexts, string(j.InputContext)), append(p.SecretKeys, literal(j.SecretKeys))
	p.Changes, p.Payloads = append(p.Changes, string(stored.Changes)), append(p.Payloads, string(stored.Payload))
	for _, c := range stored.Contents {
		p.ContentJobs = append(p.ContentJobs, j.ID.String())
		p.ContentSums, p.ContentBodies = append(p.ContentSums, c.SHA256), append(p.ContentBodies, c.Body)
	}
	return nil
}

// noInput is an input context without an entry.
const noInput = "{}"

func orNoInput(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage(noInput)
	}
	return input
}

func optionalText[T any](v *T, text func(T) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

// literalEscape escapes what ends an entry of an array literal.
var literalEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// literal is a list as PostgreSQL reads a text[].
func literal(list []string) string {
	if len(list) == 0 {
		return "{}"
	}
	var b strings.Builder
	for i, entry := range list {
		b.WriteString([]string{`{"`, `","`}[min(i, 1)])
		b.WriteString(literalEscape.Replace(entry))
	}
	b.WriteString(`"}`)
	return b.String()
}

// wrote fills in what the database decided. at is the time of the insertion.
func (c *creation) wrote(at time.Time) {
	for i := range c.list {
		j := &c.list[i]
		j.Version, j.CreatedBy, j.StatusBy = 1, c.who.Name, c.who.Actor()
		j.StatusAt, j.CreatedAt, j.UpdatedAt = at, at, at
		j.AcceptanceMet = checkmarks(nil, len(j.Acceptance))
		if j.Status == Ready {
			j.ReadyAt = &at
		}
	}
}

// made gives the new jobs as they stand in the database. Only those are read back
// of which it may have another form: input contexts, times, and what is depended on.
func (c *creation) made() ([]Job, error) {
	var other []int
	for i, j := range c.list {
		if string(j.InputContext) != noInput || j.NotBefore != nil || len(c.deps[i]) > 0 {
			other = append(other, i)
		}
	}
	if len(other) == 0 {
		return c.list, nil
	}
	asked := make([]ids.ID, 0, len(other))
	for _, i := range other {
		asked = append(asked, c.ids[i])
	}
	read, err := c.load(asked)
	if err != nil {
		return nil, err
	}
	for k, i := range other {
		c.list[i] = read[k]
	}
	return c.list, nil
}
