package webhooks

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// keptDays is how long deliveries that ended are kept, keptDeliveries how many of a webhook.
	keptDays       = 7
	keptDeliveries = 10_000
	// expireBatch is how many of them one statement deletes.
	expireBatch = 1000
	// maxOnce bounds what people may have sent while it was not yet.
	maxOnce = 1000
)

// DeliveryState says whether something has arrived.
type DeliveryState string

// The states of a delivery; see the package.
const (
	Pending   DeliveryState = "pending"
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed"
	Skipped   DeliveryState = "skipped"
)

// DeliveryStates are all states of a delivery.
var DeliveryStates = []DeliveryState{Pending, Delivered, Failed, Skipped}

// Delivery is an event on its way to a webhook.
type Delivery struct {
	ID        ids.ID        `json:"id"`
	WebhookID ids.ID        `json:"webhook_id"`
	Seq       int64         `json:"seq"`      // 0 for a test
	EventID   int64         `json:"event_id"` // 0 for a test
	Type      string        `json:"type"`
	Job       string        `json:"job"`
	State     DeliveryState `json:"status"`
	Tries     int           `json:"tries"`
	CreatedAt time.Time     `json:"created_at"`
	NextAt    *time.Time    `json:"next_at,omitempty"` // of a pending one
	TriedAt   *time.Time    `json:"tried_at,omitempty"`
	// Of the last try: the answer's status, 0 for none, what went wrong, the beginning of the answer,
	// and how long it took.
	Status     int    `json:"response_status"`
	Error      string `json:"error"`
	Answer     string `json:"response"`
	DurationMS int    `json:"duration_ms"`
	Body       string `json:"body"`
}

// Deliveries reads the deliveries of a webhook, the newest first, those of a state or all of them, and
// the id before which the next page begins, ids.Nil at the end. Faults: Forbidden; NotFound;
// Validation for a state that there is not.
func (s *Service) Deliveries(ctx context.Context, who tenancy.Principal, webhook ids.ID, state DeliveryState, before ids.ID, limit int) (
	list []Delivery, next ids.ID, err error,
) {
	if state != "" && !slices.Contains(DeliveryStates, state) {
		return nil, next, fault.Invalid("status", "It must be one of %s.", stateNames())
	}
	if before == ids.Nil {
		before = ids.Max
	}
	err = s.in(ctx, who, func(tx db.Tx) error {
		if _, err := getTx(ctx, tx, who.Workspace, webhook); err != nil {
			return err
		}
		list, err = deliveriesTx(ctx, tx, who.Workspace, webhook, state, before, limit+1)
		return err
	})
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return list, next, err
}

func stateNames() string {
	names := make([]string, len(DeliveryStates))
	for i, s := range DeliveryStates {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// Test has a message sent to a webhook, once, whether it sends or not. Faults: Forbidden; NotFound;
// TooMany where much is to be sent already.
func (s *Service) Test(ctx context.Context, who tenancy.Principal, webhook ids.ID, once *idempotency.Key) (d Delivery, err error) {
	err = s.in(ctx, who, func(tx db.Tx) error {
		id, err := idempotency.OnceTx(ctx, tx, who, once, func() (ids.ID, error) {
			w, err := getTx(ctx, tx, who.Workspace, webhook)
			if err != nil {
				return ids.Nil, err
			}
			if w.Pending >= maxOnce {
				return ids.Nil, fault.New(fault.TooMany, "%d deliveries of this webhook are to be sent already.", w.Pending)
			}
			return insertTestTx(ctx, tx, who, w.ID)
		})
		if err != nil {
			return err
		}
		d, err = deliveryTx(ctx, tx, who.Workspace, id)
		return err
	})
	return d, s.published(who.Workspace, err)
}

// Redeliver has a delivery sent once more, with the same id; one that waits for a retry is tried now.
// Faults: Forbidden; NotFound.
func (s *Service) Redeliver(ctx context.Context, who tenancy.Principal, id ids.ID, once *idempotency.Key) (d Delivery, err error) {
	err = s.in(ctx, who, func(tx db.Tx) error {
		_, err := idempotency.OnceTx(ctx, tx, who, once, func() (ids.ID, error) {
			if _, err := deliveryTx(ctx, tx, who.Workspace, id); err != nil {
				return id, err
			}
			return id, q.WebhookDeliveryAgain(ctx, tx, who.Workspace, id)
		})
		if err != nil {
			return err
		}
		d, err = deliveryTx(ctx, tx, who.Workspace, id)
		return err
	})
	return d, s.published(who.Workspace, err)
}

// disableTx notes that the server does not send to a webhook any more.
func disableTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID, why Reason) error {
	n, err := q.WebhookDisable(ctx, tx, string(why), workspace, webhook)
	if err != nil || n == 0 {
		return err
	}
	w, err := getTx(ctx, tx, workspace, webhook)
	if err != nil {
		return err
	}
	facts := w.facts()
	facts["reason"] = why
	return eventlog.RecordTx(ctx, tx, tenancy.System(workspace, loopName), eventlog.WebhookDisabled, facts,
		eventlog.Change{Field: "state", Old: Active, New: Disabled})
}
