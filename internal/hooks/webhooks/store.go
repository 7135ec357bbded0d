package webhooks

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

var q = dbsqlc.New()

// listTx reads the webhooks of a workspace, or one of them.
func listTx(ctx context.Context, tx db.Tx, workspace ids.ID, one *ids.ID) ([]Webhook, error) {
	rows, err := q.WebhookList(ctx, tx, workspace, one)
	return db.Map(rows, err, func(r dbsqlc.WebhookListRow) Webhook {
		w := Webhook{ID: r.ID, URL: r.Url, Types: r.Types, Products: r.Products, State: State(r.State),
			DisabledReason: Reason(r.DisabledReason), DisabledAt: r.DisabledAt, Pending: r.Pending, Seq: r.Seq,
			FailingSince: r.FailingSince, DeliveredAt: r.DeliveredAt, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
			UpdatedAt: r.UpdatedAt, Version: r.Version}
		if r.Rotating {
			w.RotatesUntil = r.OldUntil
		}
		return w
	})
}

// getTx reads a webhook. Fault: NotFound.
func getTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (Webhook, error) {
	list, err := listTx(ctx, tx, workspace, &id)
	if err != nil {
		return Webhook{}, err
	}
	if len(list) == 0 {
		return Webhook{}, noWebhook(id)
	}
	return list[0], nil
}

// lockTx locks a webhook of a version. Faults: NotFound; VersionConflict.
func lockTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, version int) error {
	if err := q.WebhookHold(ctx, tx, workspace, id); err != nil {
		return err
	}
	now, err := q.WebhookLock(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return noWebhook(id)
	}
	if err != nil {
		return err
	}
	return checkVersion(Webhook{Version: now}, version)
}

func updateTx(ctx context.Context, tx db.Tx, workspace ids.ID, w Webhook) error {
	return q.WebhookUpdate(ctx, tx, dbsqlc.WebhookUpdateParams{WorkspaceID: workspace, ID: w.ID, Url: w.URL, Types: w.Types,
		Products: w.Products, State: string(w.State)})
}

// checkProductsTx refuses names of products that are not there.
func checkProductsTx(ctx context.Context, tx db.Tx, workspace ids.ID, names []string) error {
	if len(names) == 0 {
		return nil
	}
	products, err := q.ProductList(ctx, tx, workspace)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, p := range products {
		known[p.Name] = true
	}
	p := fault.Problems{}
	for i, name := range names {
		if !known[name] {
			p.Add(fmt.Sprintf("products[%d]", i), "There is no product %s in this workspace.", name)
		}
	}
	return p.Err()
}

func deliveriesTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID, state DeliveryState, before ids.ID, limit int) (
	[]Delivery, error,
) {
	rows, err := q.WebhookDeliveryList(ctx, tx, dbsqlc.WebhookDeliveryListParams{WorkspaceID: workspace, WebhookID: webhook,
		State: string(state), Before: before, MaxRows: limit})
	return db.Map(rows, err, func(r dbsqlc.WebhookDeliveryListRow) Delivery {
		return deliveryFrom(dbsqlc.WebhookDeliveryGetRow{ID: r.ID, WebhookID: webhook, Seq: r.Seq, EventID: r.EventID, Type: r.Type,
			JobKey: r.JobKey, State: r.State, Tries: r.Tries, CreatedAt: r.CreatedAt, NextAt: r.NextAt, TriedAt: r.TriedAt,
			Status: r.Status, Error: r.Error, Answer: r.Answer, Millis: r.Millis, Body: r.Body})
	})
}

// deliveryTx reads and locks a delivery. Fault: NotFound.
func deliveryTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (Delivery, error) {
	r, err := q.WebhookDeliveryGet(ctx, tx, workspace, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Delivery{}, fault.New(fault.NotFound, "There is no delivery %s in this workspace.", id)
	}
	return deliveryFrom(r), err
}

func deliveryFrom(r dbsqlc.WebhookDeliveryGetRow) Delivery {
	d := Delivery{ID: r.ID, WebhookID: r.WebhookID, Seq: r.Seq, Type: r.Type, Job: r.JobKey, State: DeliveryState(r.State), Tries: r.Tries,
		CreatedAt: r.CreatedAt, TriedAt: r.TriedAt, Status: r.Status, Error: r.Error, Answer: r.Answer, DurationMS: r.Millis, Body: r.Body}
	if r.EventID != nil {
		d.EventID = *r.EventID
	}
	if d.State == Pending {
		d.NextAt = &r.NextAt
	}
	return d
}

func insertTestTx(ctx context.Context, tx db.Tx, who tenancy.Principal, webhook ids.ID) (ids.ID, error) {
	id := ids.New()
	now, err := q.JobClock(ctx, tx)
	if err != nil {
		return id, err
	}
	a := who.Actor()
	body, err := encode(message{Type: testType, Timestamp: now.UTC(),
		Data: data{Workspace: who.Workspace, Actor: actor{Kind: string(a.Kind), ID: a.ID, Name: a.Name}}})
	if err != nil {
		return id, err
	}
	return id, q.WebhookDeliveryInsertTest(ctx, tx, dbsqlc.WebhookDeliveryInsertTestParams{WorkspaceID: who.Workspace, ID: id,
		WebhookID: webhook, Type: testType, Body: body})
}

// addTx makes deliveries of events, and moves the webhook on; false where somebody else has.
func addTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID, from sender, list []queued, to eventlog.Cursor) (bool, error) {
	moved, err := q.WebhookMove(ctx, tx, dbsqlc.WebhookMoveParams{WorkspaceID: workspace, WebhookID: webhook, OldPlace: from.place.String(),
		Place: to.String(), Seq: from.seq + int64(len(list))})
	if err != nil || moved == 0 || len(list) == 0 {
		return moved > 0, err
	}
	p := dbsqlc.WebhookDeliveryInsertParams{WorkspaceID: workspace, WebhookID: webhook}
	for _, d := range list {
		p.Ids, p.Seqs, p.EventIds = append(p.Ids, ids.New()), append(p.Seqs, d.seq), append(p.EventIds, d.event.ID)
		p.Types, p.JobKeys, p.Bodies = append(p.Types, string(d.event.Type)), append(p.JobKeys, findKey(d.event)), append(p.Bodies, d.body)
		job := ids.Nil
		if d.event.JobID != nil {
			job = *d.event.JobID
		}
		p.JobIds = append(p.JobIds, job)
	}
	return true, q.WebhookDeliveryInsert(ctx, tx, p)
}

// dueTx reads deliveries that are to be sent now, at most limit.
func dueTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID, active bool, busy, busyJobs []ids.ID, limit int) ([]due, error) {
	rows, err := q.WebhookDeliveryDue(ctx, tx, dbsqlc.WebhookDeliveryDueParams{WorkspaceID: workspace, WebhookID: webhook, Active: active,
		Busy: busy, BusyJobs: busyJobs, MaxRows: limit})
	return db.Map(rows, err, func(r dbsqlc.WebhookDeliveryDueRow) due {
		return due{id: r.ID, job: r.JobID, body: r.Body, once: r.Once, retries: r.Retries, tries: r.Tries}
	})
}
