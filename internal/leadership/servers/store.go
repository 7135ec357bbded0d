package servers

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
)

// endTimeout bounds the last request of a server that ends.
const endTimeout = 3 * time.Second

var q = dbsqlc.New()

// see writes the row of this server and reads those of all.
func (l *List) see(ctx context.Context) error {
	var live []Server
	err := l.db.In(ctx, db.None, func(tx db.Tx) error {
		if l.live.Load() == nil {
			if err := q.ServerForget(ctx, tx); err != nil {
				return err
			}
		}
		if err := q.ServerSee(ctx, tx, l.name, l.version); err != nil {
			return err
		}
		rows, err := q.ServerList(ctx, tx, Lately.Seconds())
		for _, r := range rows {
			live = append(live, Server{Name: r.Name, Version: r.Version, Since: r.StartedAt})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("say that this server lives: %w", err)
	}
	l.live.Store(&live)
	return nil
}

// end takes the row of this server away, so that the others need not wait.
func (l *List) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := l.db.In(ctx, db.None, func(tx db.Tx) error { return q.ServerEnd(ctx, tx, l.name) })
	if err != nil {
		l.log.Warn("the others learn later that this server has ended", "error", err)
	}
}
