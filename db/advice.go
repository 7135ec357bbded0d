package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// reserve is how many connections a server needs beside one process's pool: for
// listening, migrations, an audit and an administrator.
const reserve = 10

// advised are settings of a PostgreSQL server on which promises or speed rest.
// Those that only choose plans are not among them: each transaction sets its own.
const advised = `SELECT current_setting('fsync') = 'on' AS fsync,
	current_setting('full_page_writes') = 'on' AS full_page_writes,
	current_setting('synchronous_commit') <> 'off' AS synchronous_commit,
	current_setting('autovacuum') = 'on' AND current_setting('track_counts') = 'on' AS autovacuum,
	current_setting('server_encoding') = 'UTF8' AS utf8,
	current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
	pg_is_in_recovery() AS standby`

// Advice says in a sentence each what the server lacks, as a login of the database
// sees it; nothing where all is well.
func (d *DB) Advice(ctx context.Context) ([]string, error) {
	var s struct {
		Fsync, FullPageWrites, SynchronousCommit, Autovacuum, UTF8 bool
		Connections                                                int32
		Standby                                                    bool
	}
	err := d.In(ctx, None, func(tx Tx) error {
		rows, err := tx.Query(ctx, advised)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, []any{&s.Fsync, &s.FullPageWrites, &s.SynchronousCommit, &s.Autovacuum, &s.UTF8,
			&s.Connections, &s.Standby}, func() error { return nil })
		return err
	}, OneRead)
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	var list []string
	advise := func(lacks bool, sentence string, args ...any) {
		if lacks {
			list = append(list, fmt.Sprintf(sentence, args...))
		}
	}
	needs := d.pool.Config().MaxConns + reserve
	advise(!s.Fsync, "fsync is off: a crash of the machine can destroy the database")
	advise(!s.FullPageWrites, "full_page_writes is off: a crash of the machine can destroy the database")
	advise(!s.SynchronousCommit, "synchronous_commit is off: a crash loses what was answered in the moment before")
	advise(!s.Autovacuum, "autovacuum or track_counts is off: tables grow without end and claims become slow")
	advise(!s.UTF8, "the database's encoding is not UTF8: some texts cannot be kept")
	advise(s.Connections < needs, "max_connections leaves %d connections, and this process needs up to %d", s.Connections, needs)
	advise(s.Standby, "the server is a standby, which takes no writes")
	return list, nil
}
