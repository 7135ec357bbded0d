package bus

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func threadTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string, after int64, limit int) ([]Message, error) {
	rows, err := q.MessageThread(ctx, tx, workspace, name, after, limit)
	return db.Map(rows, err, func(r dbsqlc.MessageThreadRow) Message { return messageFrom(r.Message, r.JobKey) })
}

func pageTx(ctx context.Context, tx db.Tx, workspace ids.ID, f Filter, before int64, limit int) ([]Message, error) {
	rows, err := q.MessagePage(ctx, tx, dbsqlc.MessagePageParams{WorkspaceID: workspace, Before: before, Types: db.OrEmpty(f.Types),
		Senders: db.OrEmpty(f.Senders), MaxRows: limit})
	return db.Map(rows, err, func(r dbsqlc.MessagePageRow) Message { return messageFrom(r.Message, r.JobKey) })
}

func searchTx(ctx context.Context, tx db.Tx, workspace ids.ID, wanted fulltext.Query, f Filter, limit int) ([]Found, error) {
	rows, err := q.MessageSearch(ctx, tx, dbsqlc.MessageSearchParams{WorkspaceID: workspace, Wanted: wanted.Together(), Scan: fulltext.Scan,
		Types: db.OrEmpty(f.Types), Senders: db.OrEmpty(f.Senders), Jobs: db.OrEmpty(f.Jobs), MaxRows: limit})
	return db.Map(rows, err, func(r dbsqlc.MessageSearchRow) Found {
		return Found{
			Message: messageFrom(r.Message, r.JobKey),
			Passage: wanted.See(payloadText(r.Message.Payload)).Passage(),
			Rank:    r.Rank,
		}
	})
}

func deadLettersTx(ctx context.Context, tx db.Tx, workspace ids.ID, before int64, limit int) ([]DeadLetter, error) {
	rows, err := q.DeadLetters(ctx, tx, workspace, before, limit)
	if err != nil {
		return nil, err
	}
	list := make([]DeadLetter, 0, len(rows))
	for _, r := range rows {
		l := DeadLetter{Message: messageFrom(r.Message, r.JobKey), Inbox: r.Inbox, Error: r.Error}
		l.Deliveries = r.Deliveries
		if r.DeadAt != nil {
			l.At = *r.DeadAt
		}
		list = append(list, l)
	}
	return list, nil
}
