package webhooks

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/leadership"
	"github.com/fleetboard/fleetboard/internal/outbound"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Wake tells the processes of the database that something has changed, and calls back when something
// has.
type Wake interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// topics begins the topics of workspaces whose webhooks were changed or have something to send.
const topics = "webhook:"

// Options are what the webhooks of a server need beside the database.
type Options struct {
	Instance string            // how the process calls itself among those of the database
	Allow    []netip.Prefix    // networks that may be connected to beside the public one
	Resolver outbound.Resolver // nil is that of the system
}

// Service keeps the webhooks of workspaces, and sends what is to be sent.
type Service struct {
	db       *db.DB
	wake     Wake
	vault    *vault.Vault
	events   *eventlog.Log
	guard    *outbound.Guard
	client   *http.Client
	election *leadership.Election
	log      *slog.Logger
}

// NewService returns the webhooks kept in d, whose secrets v seals. Run sends.
func NewService(d *db.DB, wake Wake, v *vault.Vault, events *eventlog.Log, o Options, log *slog.Logger) *Service {
	g := outbound.NewGuard(o.Allow, o.Resolver)
	return &Service{db: d, wake: wake, vault: v, events: events, log: log, guard: g,
		client:   outbound.Client(g.Transport(connectTimeout), 0),
		election: leadership.New(d, "webhooks", o.Instance, log)}
}

// List reads the webhooks of a workspace, the oldest first. Fault: Forbidden.
func (s *Service) List(ctx context.Context, who tenancy.Principal) (list []Webhook, err error) {
	err = s.in(ctx, who, func(tx db.Tx) error {
		list, err = listTx(ctx, tx, who.Workspace, nil)
		return err
	})
	return list, err
}

// Get reads one webhook. Faults: Forbidden; NotFound.
func (s *Service) Get(ctx context.Context, who tenancy.Principal, id ids.ID) (w Webhook, err error) {
	err = s.in(ctx, who, func(tx db.Tx) error {
		w, err = getTx(ctx, tx, who.Workspace, id)
		return err
	})
	return w, err
}

// Create makes a webhook, which gets the events from now on, and returns it with its secret. The same
// request again gives the same webhook, with the secret that it has by then.
//
// Faults: Forbidden; Validation; InUse where the workspace has as many webhooks as it may; Unavailable
// where secrets cannot be kept.
func (s *Service) Create(ctx context.Context, who tenancy.Principal, n New, once *idempotency.Key) (w Webhook, secret Secret, err error) {
	w = Webhook{ID: ids.New(), URL: n.URL, Types: n.Types, Products: n.Products, State: Active}
	w.normalise()
	secret, err = n.secret()
	if err != nil {
		return w, secret, err
	}
	if err := s.checkInput(ctx, who, w); err != nil {
		return w, secret, err
	}
	err = s.in(ctx, who, func(tx db.Tx) error {
		id, err := idempotency.OnceTx(ctx, tx, who, once, func() (ids.ID, error) { return w.ID, s.createTx(ctx, tx, who, w, secret) })
		if err != nil {
			return err
		}
		if w, err = getTx(ctx, tx, who.Workspace, id); err != nil {
			return err
		}
		secret, err = s.secretTx(ctx, tx, who.Workspace, id)
		return err
	})
	return w, secret, s.published(who.Workspace, err)
}

func (n New) secret() (Secret, error) {
	if n.Secret == "" {
		return makeSecret(), nil
	}
	secret, ok := parseSecret(n.Secret)
	if !ok {
		return secret, fault.Invalid("secret", "It must be whsec_ and %d to %d random bytes in base64.", minSecret, maxSecret)
	}
	return secret, nil
}

func (s *Service) createTx(ctx context.Context, tx db.Tx, who tenancy.Principal, w Webhook, secret Secret) error {
	if err := q.NamedLock(ctx, tx, topics+who.Workspace.String()); err != nil {
		return err
	}
	have, err := listTx(ctx, tx, who.Workspace, nil)
	if err != nil {
		return err
	}
	if len(have) >= MaxWebhooks {
		return fault.New(fault.InUse, "This workspace has %d webhooks, as many as it may.", len(have))
	}
	if err := checkProductsTx(ctx, tx, who.Workspace, w.Products); err != nil {
		return err
	}
	from, err := eventlog.HeadTx(ctx, tx)
	if err != nil {
		return err
	}
	if err := s.insertTx(ctx, tx, who, w, secret, from); err != nil {
		return err
	}
	return eventlog.RecordTx(ctx, tx, who, eventlog.WebhookCreated, w.facts(), differ(Webhook{}, w)...)
}

// Edit changes a webhook. One that is active from then on goes on after what was delivered last, or
// from now on. Faults: Forbidden; NotFound; Validation; VersionConflict.
func (s *Service) Edit(ctx context.Context, who tenancy.Principal, id ids.ID, c Change) (w Webhook, err error) {
	was, err := s.Get(ctx, who, id)
	if err != nil {
		return w, err
	}
	if err := checkVersion(was, c.Version); err != nil {
		return w, err
	}
	w = was
	c.apply(&w)
	if c.State == nil && was.State == Disabled {
		w.State = Paused // a disabled one is not sent to only because its address is another one
	}
	if err := s.checkInput(ctx, who, w); err != nil {
		return w, err
	}
	err = s.in(ctx, who, func(tx db.Tx) error {
		if err := lockTx(ctx, tx, who.Workspace, id, c.Version); err != nil {
			return err
		}
		if err := checkProductsTx(ctx, tx, who.Workspace, w.Products); err != nil {
			return err
		}
		if err := updateTx(ctx, tx, who.Workspace, w); err != nil {
			return err
		}
		if err := s.goOnTx(ctx, tx, who, was, w, c.SkipBacklog); err != nil {
			return err
		}
		if changes := differ(was, w); len(changes) > 0 {
			if err := eventlog.RecordTx(ctx, tx, who, eventlog.WebhookChanged, w.facts(), changes...); err != nil {
				return err
			}
		}
		w, err = getTx(ctx, tx, who.Workspace, id)
		return err
	})
	return w, s.published(who.Workspace, err)
}

// goOnTx has a webhook go on that becomes active: with what it missed, or without.
func (s *Service) goOnTx(ctx context.Context, tx db.Tx, who tenancy.Principal, was, now Webhook, skip bool) error {
	switch {
	case skip:
		head, err := eventlog.HeadTx(ctx, tx)
		if err != nil {
			return err
		}
		return q.WebhookSkip(ctx, tx, head.String(), who.Workspace, now.ID)
	case now.State == Active && was.State != Active:
		return q.WebhookResume(ctx, tx, who.Workspace, now.ID)
	}
	return nil
}

// Delete takes a webhook away, with its deliveries. Faults: Forbidden; NotFound.
func (s *Service) Delete(ctx context.Context, who tenancy.Principal, id ids.ID) error {
	err := s.in(ctx, who, func(tx db.Tx) error {
		w, err := getTx(ctx, tx, who.Workspace, id)
		if err != nil {
			return err
		}
		if err := q.WebhookHold(ctx, tx, who.Workspace, id); err != nil {
			return err
		}
		if n, err := q.WebhookDelete(ctx, tx, who.Workspace, id); err != nil || n == 0 {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.WebhookDeleted, w.facts())
	})
	return s.published(who.Workspace, err)
}

// Rotate gives a webhook a new secret and returns it; for so many hours the one before signs, too.
// Faults: Forbidden; NotFound; Validation; Unavailable.
func (s *Service) Rotate(ctx context.Context, who tenancy.Principal, id ids.ID, overlapHours int, once *idempotency.Key) (
	w Webhook, secret Secret, err error,
) {
	p := fault.Problems{}
	p.Number("overlap_hours", overlapHours, 0, MaxOverlap)
	if err := p.Err(); err != nil {
		return w, secret, err
	}
	err = s.in(ctx, who, func(tx db.Tx) error {
		_, err := idempotency.OnceTx(ctx, tx, who, once, func() (ids.ID, error) {
			return id, s.rotateTx(ctx, tx, who, id, makeSecret(), overlapHours)
		})
		if err != nil {
			return err
		}
		if w, err = getTx(ctx, tx, who.Workspace, id); err != nil {
			return err
		}
		secret, err = s.secretTx(ctx, tx, who.Workspace, id)
		return err
	})
	return w, secret, s.published(who.Workspace, err)
}

func (s *Service) rotateTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID, secret Secret, overlapHours int) error {
	w, err := getTx(ctx, tx, who.Workspace, id)
	if err != nil {
		return err
	}
	if err := lockTx(ctx, tx, who.Workspace, id, w.Version); err != nil {
		return err
	}
	if err := s.replaceSecretTx(ctx, tx, who.Workspace, id, secret, overlapHours); err != nil {
		return err
	}
	facts := w.facts()
	facts["overlap_hours"] = overlapHours
	return eventlog.RecordTx(ctx, tx, who, eventlog.WebhookSecretRotated, facts)
}

// in calls fn in a transaction of the workspace. Fault: Forbidden.
func (s *Service) in(ctx context.Context, who tenancy.Principal, fn func(db.Tx) error) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins see and change webhooks.")
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), fn)
}

// checkInput refuses a webhook that cannot be.
func (s *Service) checkInput(ctx context.Context, who tenancy.Principal, w Webhook) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins see and change webhooks.")
	}
	if err := w.check(); err != nil {
		return err
	}
	if wrong := address.CheckWebhook(ctx, s.guard, w.URL); wrong != "" {
		return fault.Invalid("url", "%s", wrong)
	}
	return nil
}

// published wakes whoever sends and whoever looks, unless err says that nothing has changed; it
// returns err.
func (s *Service) published(workspace ids.ID, err error) error {
	if err == nil {
		s.wake.Publish(topics+workspace.String(), eventlog.Topic(workspace))
	}
	return err
}

// Notice is a webhook that the server does not send to any more.
type Notice struct {
	ID         ids.ID
	Address    string // without its path
	Reason     Reason
	DisabledAt time.Time
}

// DisabledTx reads the webhooks of a workspace that wait for a person, the oldest first.
func DisabledTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Notice, error) {
	rows, err := q.WebhookDisabled(ctx, tx, workspace)
	list := make([]Notice, 0, len(rows))
	for _, r := range rows {
		list = append(list, Notice{ID: r.ID, Address: address.Shown(r.Url), Reason: Reason(r.DisabledReason), DisabledAt: *r.DisabledAt})
	}
	return list, err
}
