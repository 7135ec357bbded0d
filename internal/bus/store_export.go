package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func exportFrom(r dbsqlc.MessageExport) Export {
	return Export{
		Name:      r.Name,
		Source:    Source(r.Source),
		Position:  r.Place,
		handed:    r.Handed,
		CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt,
		AckedAt:   r.AckedAt,
	}
}

func exportsTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Export, error) {
	rows, err := q.ExportList(ctx, tx, workspace)
	return db.Map(rows, err, func(r dbsqlc.MessageExport) Export { return exportFrom(r) })
}

// createExportTx makes an export unless there is one of this name.
func createExportTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name string, source Source) (Export, error) {
	e, err := exportTx(ctx, tx, who.Workspace, name, false)
	if !fault.Is(err, fault.NotFound) {
		return e, err
	}
	all, err := exportsTx(ctx, tx, who.Workspace)
	if err != nil {
		return e, err
	}
	if len(all) >= MaxExports {
		return e, fault.New(fault.TooMany, "The workspace has %d exports already.", MaxExports)
	}
	r, err := q.ExportInsert(
		ctx,
		tx,
		who.Workspace, name, string(source), who.Name,
	)
	if err != nil {
		return e, err
	}
	made := exportFrom(r)
	return made, eventlog.RecordTx(ctx, tx, who, eventlog.ExportCreated, made.facts())
}

// exportTx reads an export, and locks it where it is to be moved.
func exportTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string, lock bool) (Export, error) {
	read := q.ExportByName
	if lock {
		read = q.ExportLock
	}
	r, err := read(ctx, tx, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Export{}, fault.New(fault.NotFound, "There is no export %.64s in this workspace.", name)
	}
	if err != nil {
		return Export{}, fmt.Errorf("read export: %w", err)
	}
	return exportFrom(r), nil
}

func moveExportTx(ctx context.Context, tx db.Tx, workspace ids.ID, name, position string) (Export, error) {
	r, err := q.ExportMove(ctx, tx, position, workspace, name)
	if err != nil {
		return Export{}, err
	}
	return exportFrom(r), nil
}

func resetExportTx(ctx context.Context, tx db.Tx, workspace ids.ID, name, position string) (Export, error) {
	r, err := q.ExportReset(ctx, tx, position, workspace, name)
	if err != nil {
		return Export{}, err
	}
	return exportFrom(r), nil
}

func tailTx(ctx context.Context, tx db.Tx, workspace ids.ID, after int64, limit int) ([]Message, error) {
	rows, err := q.MessageTail(ctx, tx, workspace, after, limit)
	return db.Map(rows, err, func(r dbsqlc.MessageTailRow) Message { return messageFrom(r.Message, r.JobKey) })
}
