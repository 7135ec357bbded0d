package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// webhookHandlers answer the calls about webhooks.
type webhookHandlers struct{ *Deps }

// webhookID reads the id of a webhook. NotFound for what is none.
func webhookID(text string) (ids.ID, error) {
	id, ok := ids.Parse(text)
	if !ok {
		return ids.Nil, fault.New(fault.NotFound, "There is no such webhook in this workspace.")
	}
	return id, nil
}

// ListWebhooks lists the webhooks.
func (s *webhookHandlers) ListWebhooks(ctx context.Context, _ ListWebhooksRequestObject) (ListWebhooksResponseObject, error) {
	list, err := s.Webhooks.List(ctx, principal(ctx))
	return ListWebhooks200JSONResponse{Items: mapSlice(list, webhookModel)}, err
}

// CreateWebhook makes a webhook.
func (s *webhookHandlers) CreateWebhook(ctx context.Context, r CreateWebhookRequestObject) (CreateWebhookResponseObject, error) {
	w, secret, err := s.Webhooks.Create(ctx, principal(ctx), webhooks.New{URL: r.Body.URL, Types: value(r.Body.Types),
		Products: value(r.Body.Products), Secret: value(r.Body.Secret)}, callFrom(ctx).once)
	return CreateWebhook201JSONResponse{Webhook: webhookModel(w), Secret: secret.Reveal()}, err
}

// PatchWebhook edits, pauses or enables a webhook.
func (s *webhookHandlers) PatchWebhook(ctx context.Context, r PatchWebhookRequestObject) (PatchWebhookResponseObject, error) {
	id, err := webhookID(r.Webhook)
	if err != nil {
		return nil, err
	}
	w, err := s.Webhooks.Edit(ctx, principal(ctx), id, webhooks.Change{URL: r.Body.URL, Types: r.Body.Types, Products: r.Body.Products,
		State: (*webhooks.State)(r.Body.State), SkipBacklog: value(r.Body.SkipBacklog), Version: r.Body.Version})
	return PatchWebhook200JSONResponse(webhookModel(w)), err
}

// DeleteWebhook takes a webhook away.
func (s *webhookHandlers) DeleteWebhook(ctx context.Context, r DeleteWebhookRequestObject) (DeleteWebhookResponseObject, error) {
	id, err := webhookID(r.Webhook)
	if err != nil {
		return nil, err
	}
	return DeleteWebhook204Response{}, s.Webhooks.Delete(ctx, principal(ctx), id)
}

// RotateWebhook gives a webhook a new secret.
func (s *webhookHandlers) RotateWebhook(ctx context.Context, r RotateWebhookRequestObject) (RotateWebhookResponseObject, error) {
	id, err := webhookID(r.Webhook)
	if err != nil {
		return nil, err
	}
	hours := webhooks.DefaultOverlap
	if r.Body.OverlapHours != nil {
		hours = *r.Body.OverlapHours
	}
	w, secret, err := s.Webhooks.Rotate(ctx, principal(ctx), id, hours, callFrom(ctx).once)
	return RotateWebhook200JSONResponse{Webhook: webhookModel(w), Secret: secret.Reveal()}, err
}

// TestWebhook has a message sent to a webhook.
func (s *webhookHandlers) TestWebhook(ctx context.Context, r TestWebhookRequestObject) (TestWebhookResponseObject, error) {
	id, err := webhookID(r.Webhook)
	if err != nil {
		return nil, err
	}
	d, err := s.Webhooks.Test(ctx, principal(ctx), id, callFrom(ctx).once)
	return TestWebhook200JSONResponse(webhookDeliveryModel(d)), err
}

// ListWebhookDeliveries pages the deliveries of a webhook.
func (s *webhookHandlers) ListWebhookDeliveries(ctx context.Context, r ListWebhookDeliveriesRequestObject) (
	ListWebhookDeliveriesResponseObject, error,
) {
	id, err := webhookID(r.Webhook)
	if err != nil {
		return nil, err
	}
	before := ids.Nil
	if text := value(r.Params.Cursor); text != "" {
		var ok bool
		if before, ok = ids.Parse(text); !ok {
			return nil, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	list, next, err := s.Webhooks.Deliveries(ctx, principal(ctx), id, webhooks.DeliveryState(value(r.Params.Status)), before,
		limit(r.Params.Limit))
	page := ListWebhookDeliveries200JSONResponse{Items: mapSlice(list, webhookDeliveryModel)}
	if next != ids.Nil {
		page.NextCursor = next.String()
	}
	return page, err
}

// Redeliver has a delivery sent once more.
func (s *webhookHandlers) Redeliver(ctx context.Context, r RedeliverRequestObject) (RedeliverResponseObject, error) {
	id, ok := ids.Parse(r.Delivery)
	if !ok {
		return nil, fault.New(fault.NotFound, "There is no such delivery in this workspace.")
	}
	d, err := s.Webhooks.Redeliver(ctx, principal(ctx), id, callFrom(ctx).once)
	return Redeliver200JSONResponse(webhookDeliveryModel(d)), err
}

func webhookModel(w webhooks.Webhook) Webhook {
	m := Webhook{ID: w.ID.String(), URL: w.URL, Types: list(w.Types), Products: list(w.Products), State: WebhookState(w.State),
		DisabledAt: w.DisabledAt, RotatesUntil: w.RotatesUntil, Pending: w.Pending, Seq: w.Seq, FailingSince: w.FailingSince,
		DeliveredAt: w.DeliveredAt, CreatedBy: w.CreatedBy, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt, Version: w.Version}
	if w.DisabledReason != "" {
		m.DisabledReason = (*WebhookDisabledReason)(&w.DisabledReason)
	}
	return m
}

func webhookDeliveryModel(d webhooks.Delivery) WebhookDelivery {
	m := WebhookDelivery{ID: d.ID.String(), MessageID: webhooks.MessageID(d.ID), WebhookID: d.WebhookID.String(), Seq: d.Seq, Type: d.Type,
		Job: d.Job, Status: DeliveryStatus(d.State), Tries: d.Tries, CreatedAt: d.CreatedAt, NextAt: d.NextAt, TriedAt: d.TriedAt,
		ResponseStatus: d.Status, Error: d.Error, Response: d.Answer, DurationMS: d.DurationMS, Body: d.Body}
	if d.EventID != 0 {
		m.EventID = &d.EventID
	}
	return m
}
