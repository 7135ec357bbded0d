package bus

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// lockWordsTx reads up to which message there are words; nobody else goes on there until the
// transaction ends.
func lockWordsTx(ctx context.Context, tx db.Tx, workspace ids.ID) (after int64, era fulltext.Era, err error) {
	r, err := q.MessageWordsLock(ctx, tx, workspace)
	if err != nil {
		return 0, era, err
	}
	return r.Seq, fulltext.Era{Number: r.Era, Filled: r.Filled}, nil
}

// unfoundTx reads what the next messages after a place are found by, and the place after them.
func unfoundTx(ctx context.Context, tx db.Tx, workspace ids.ID, after int64) (list []Message, end int64, err error) {
	rows, err := q.MessageWordsTexts(ctx, tx, workspace, after, wordsPage)
	if err != nil {
		return nil, after, err
	}
	end = after
	for _, r := range rows {
		list = append(list, Message{Seq: r.Seq, Type: r.Type, From: Address{Name: r.FromName}, To: Address{Name: r.ToName},
			CorrelationID: r.CorrelationID, Payload: r.Payload})
		end = r.Seq
	}
	return list, end, nil
}

// writeWordsTx writes the words of messages and moves the place on behind them.
func writeWordsTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Message, end int64, era fulltext.Era) error {
	var (
		seqs  []int64
		words []string
	)
	for _, m := range list {
		seqs, words = append(seqs, m.Seq), append(words, messageWords(m))
	}
	if err := q.MessageWordsWrite(ctx, tx, workspace, era.Number, seqs, words); err != nil {
		return err
	}
	era = era.After(len(list))
	return q.MessageWordsPlaceSave(ctx, tx, end, era.Number, era.Filled, workspace)
}
