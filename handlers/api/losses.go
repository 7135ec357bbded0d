package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/coordinator/proof"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
)

// NoteLosses says that what the database lacks of the log is known.
func (s *statusHandlers) NoteLosses(ctx context.Context, _ NoteLossesRequestObject) (NoteLossesResponseObject, error) {
	n, err := s.Losses.Note(ctx, principal(ctx))
	return NoteLosses200JSONResponse{Noted: n}, err
}

func proofModel(p proof.Proof) DatabaseProof {
	return DatabaseProof{Kind: DatabaseProofKind(p.Kind), NoticedAt: p.NoticedAt.UTC(), DoneAt: utcOrNil(p.DoneAt),
		Workspaces: p.Workspaces, Jobs: p.Jobs, Found: p.Found, Complete: p.DoneAt != nil && p.Blind == ""}
}

func lossModel(l loss.Loss) LogLoss {
	return LogLoss{NoticedAt: l.NoticedAt.UTC(), NotedAt: utcOrNil(l.NotedAt), Detail: l.Detail, Count: l.Count,
		First: l.First, Last: l.Last, Events: mapSlice(l.Events, func(e witness.Event) LostEvent {
			return LostEvent{ID: e.ID, At: e.At.UTC(), Type: string(e.Type), Job: e.Key}
		})}
}
