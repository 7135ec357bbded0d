package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// MinFree is how much space the disk of an embedded cluster must have, in bytes: two
// segments of PostgreSQL's log. Without space for the next one PostgreSQL ends.
const MinFree = 32 << 20

// writeProbe makes PostgreSQL write 1 MB into a temporary file on the disk of its
// tables. A row that is rewritten would need no space there.
const writeProbe = `WITH probe AS MATERIALIZED (SELECT repeat('x', 8000) AS filler FROM generate_series(1, 128))
	SELECT sum(length(filler)) FROM probe`

var errReadOnly = errors.New("the database is read-only")

// CheckWrite reports whether the database can write: it commits a transaction with
// a number, which is written to its log, and a temporary file.
func (d *DB) CheckWrite(ctx context.Context) error {
	return d.In(ctx, None, func(tx Tx) error {
		var only string
		err := tx.QueryRow(ctx, `SELECT current_setting('transaction_read_only'), set_config('work_mem', '64kB', true)`).Scan(&only, nil)
		if err == nil && only == "on" {
			err = readOnly(errReadOnly)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_current_xact_id()`)
		if err == nil {
			_, err = tx.Exec(ctx, writeProbe)
		}
		return err
	})
}

// CheckSpace reports whether the disk of a cluster has at least MinFree.
func CheckSpace(dir string) error {
	for _, part := range []string{"data", filepath.Join("data", "pg_wal")} {
		var disk syscall.Statfs_t
		if err := syscall.Statfs(filepath.Join(dir, part), &disk); err != nil {
			return fmt.Errorf("the disk of the database: %w", err)
		}
		if free := disk.Bavail * uint64(disk.Bsize); free < MinFree { //nolint:gosec // a size of blocks is positive
			return fmt.Errorf("the disk of the database has %d MB left; it needs %d", free>>20, MinFree>>20)
		}
	}
	return nil
}
