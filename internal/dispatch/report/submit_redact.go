package report

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// redactNew takes the secrets of the jobs that an agent holds out of a job that it wants
// created. What names something cannot be another one, and is refused.
func (s *Service) redactNew(ctx context.Context, who tenancy.Principal, key *idempotency.Key, in jobs.New) (jobs.New, error) {
	var red *redact.Redactor
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		held, err := s.jobs.Secrets.HeldTx(ctx, tx, who.Workspace, secrets.Holders{Agents: []ids.ID{who.Agent}})
		red = held.Redactor(who.Agent)
		return err
	})
	if err != nil || red == nil {
		return in, err
	}
	called := []string{in.IdempotencyKey}
	if key != nil {
		called = append(called, key.Name)
	}
	p := fault.Problems{}
	for field, names := range map[string][]string{
		"key": {in.Key}, "kind": {in.Kind}, "product": {in.Product}, "repo": {in.Repo}, "factory": {in.Factory},
		"idempotency_key": called, "capabilities": in.Capabilities, "depends_on": in.DependsOn, "secret_keys": in.SecretKeys,
	} {
		if slices.ContainsFunc(names, func(name string) bool { return red.Text(name) != name }) {
			p.Add(field, "It must hold no secret of a job that the agent works on.")
		}
	}
	in.Title, in.Body = redactText(red, in.Title, jobs.MaxTitle), redactText(red, in.Body, jobs.MaxBody)
	in.Phase = redactText(red, in.Phase, jobs.MaxName)
	in.EstimatedComplexity = redactText(red, in.EstimatedComplexity, jobs.MaxComplexity)
	in.BlockedReason = redactText(red, in.BlockedReason, jobs.MaxReason)
	in.Tags, in.Files = redactAll(red, in.Tags, jobs.MaxName), redactAll(red, in.Files, jobs.MaxFile)
	in.Acceptance = redactAll(red, in.Acceptance, jobs.MaxCriterion)
	in.InputContext = redactInputs(red, in.InputContext, in.SecretKeys)
	return in, p.Err()
}

// redactText returns a text without the values. Where it had at most limit characters it still has.
func redactText(red *redact.Redactor, text string, limit int) string {
	if utf8.RuneCountInString(text) > limit {
		return red.Text(text) // which is refused
	}
	return red.Cut(text, limit)
}

// redactAll are texts without the values, each of at most limit characters.
func redactAll(red *redact.Redactor, list []string, limit int) []string {
	clean := make([]string, 0, len(list))
	for _, text := range list {
		clean = append(clean, redactText(red, text, limit))
	}
	return clean
}

// redactInputs are inputs without the values, but for those that are to be kept secret of
// the new job, too.
func redactInputs(red *redact.Redactor, raw json.RawMessage, secretKeys []string) json.RawMessage {
	var all, open map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return raw // nothing, or none that a job may have
	}
	open = maps.Clone(all)
	for _, key := range secretKeys {
		delete(open, key)
	}
	plain, err := json.Marshal(open)
	if err != nil {
		return raw
	}
	var clean map[string]json.RawMessage
	if json.Unmarshal(red.JSON(plain), &clean) != nil {
		return raw
	}
	for _, key := range secretKeys {
		if value, ok := all[key]; ok {
			clean[key] = value
		}
	}
	if plain, err = json.Marshal(clean); err != nil {
		return raw
	}
	return plain
}
