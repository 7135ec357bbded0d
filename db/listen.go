package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Listen opens a connection of its own, outside the pool and past any pooler,
// with the application's rights. It is meant for LISTEN and NOTIFY; the caller
// closes it.
func (d *DB) Listen(ctx context.Context) (*pgx.Conn, error) {
	config := d.direct.Copy()
	// Nobody waits until a notification is on disk: it announces what is committed already, and
	// whoever listens loses the connection in a crash.
	config.RuntimeParams["synchronous_commit"] = "off"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to listen: %w", err)
	}
	if err := becomeApp(ctx, conn); err != nil {
		closeQuietly(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// closeQuietly ends a connection that is of no more use, even where ctx has ended.
func closeQuietly(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}
