package replication

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Slot is a place in the log up to which somebody has it; the server keeps what follows.
type Slot struct {
	Name string
	// Lost says that the server kept no more for it, since it fell too far behind.
	Lost bool
	// Kept is the place.
	Kept LSN
}

// Slots returns the physical slots whose names have a prefix. The login needs no right for that.
func Slots(ctx context.Context, url, prefix string) ([]Slot, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("list the slots of replication: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT slot_name::text, coalesce(wal_status, '') = 'lost', coalesce(restart_lsn, '0/0')::text
		FROM pg_replication_slots WHERE slot_type = 'physical' AND starts_with(slot_name, $1) ORDER BY slot_name`, prefix)
	if err != nil {
		return nil, fmt.Errorf("list the slots of replication: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Slot, err error) {
		var kept string
		if err = row.Scan(&s.Name, &s.Lost, &kept); err == nil {
			s.Kept, err = ParseLSN(kept)
		}
		return s, err
	})
}

// MakeSlot makes a slot that stays: the server keeps its log from now on.
func (c *Conn) MakeSlot(ctx context.Context, name string) error {
	_, err := c.row(ctx, "CREATE_REPLICATION_SLOT "+name+" PHYSICAL RESERVE_WAL", 0)
	return err
}

// DropSlot removes a slot; whoever uses it still is waited for.
func (c *Conn) DropSlot(ctx context.Context, name string) error {
	if _, err := c.pg.Exec(ctx, "DROP_REPLICATION_SLOT "+name+" WAIT").ReadAll(); err != nil {
		return fmt.Errorf("drop the slot %s: %w", name, err)
	}
	return nil
}
