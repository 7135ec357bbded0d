package bus

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// threadEnd is a message and whether its thread ends with it.
type threadEnd struct {
	seq  int64
	ends bool
}

func threadEndsTx(ctx context.Context, tx db.Tx, workspace ids.ID, notices bool, before int64, scan int) ([]threadEnd, error) {
	rows, err := q.ThreadEnds(ctx, tx, notices, workspace, before, scan)
	return db.Map(rows, err, func(r dbsqlc.ThreadEndsRow) threadEnd { return threadEnd{r.Seq, r.Ends} })
}

// threadsTx reads the threads that end with messages, for who has an inbox.
func threadsTx(ctx context.Context, tx db.Tx, workspace ids.ID, inbox string, ends []int64) ([]Conversation, error) {
	rows, err := q.ThreadsEnding(ctx, tx, workspace, ends)
	if err != nil {
		return nil, err
	}
	list, names := make([]Conversation, 0, len(rows)), make([]string, 0, len(rows))
	for _, r := range rows {
		list = append(list, Conversation{Last: messageFrom(r.Message, r.JobKey), JobTitle: r.JobTitle,
			First: Message{Type: r.FirstType, Payload: r.FirstPayload}, Who: r.Who})
		names = append(names, r.Message.CorrelationID)
	}
	unread, err := unreadTx(ctx, tx, workspace, inbox, names)
	for i := range list {
		list[i].Unread = unread[names[i]]
	}
	return list, err
}

func unreadTx(ctx context.Context, tx db.Tx, workspace ids.ID, inbox string, threads []string) (map[string]bool, error) {
	rows, err := q.InboxThreads(ctx, tx, workspace, inbox, threads)
	if err != nil {
		return nil, err
	}
	unread := make(map[string]bool, len(rows))
	for _, name := range rows {
		unread[name] = true
	}
	return unread, nil
}

func newestTx(ctx context.Context, tx db.Tx, workspace ids.ID, thread string, before int64, limit int) ([]Message, error) {
	rows, err := q.ThreadNewest(ctx, tx, workspace, thread, before, limit)
	if err != nil {
		return nil, err
	}
	list := make([]Message, len(rows))
	for i, r := range rows {
		list[len(rows)-1-i] = messageFrom(r.Message, r.JobKey)
	}
	return list, nil
}
