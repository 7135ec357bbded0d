package notifications

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/outbound"
)

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Options are what a Service needs beside the database.
type Options struct {
	// Key is the server's secret key, Earlier are those that it had before.
	Key     []byte
	Earlier [][]byte
	// PublicURL is where people reach the server.
	PublicURL string
	// Mail is the server that takes e-mails; nil where there is none.
	Mail *MailServer
	// Allow are private networks that webhooks and browsers may be in.
	Allow []netip.Prefix
	// Resolver finds the addresses of their hosts; nil is that of the system.
	Resolver outbound.Resolver
	Log      *slog.Logger
}

// Service keeps what people want to be told of, and tells them.
type Service struct {
	db     *db.DB
	wake   Notifier
	log    *slog.Logger
	public *url.URL
	ring   vault.Ring
	key    []byte
	mail   *MailServer
	guard  *outbound.Guard
	pusher pusher
	hooks  hooks
	logs   eventlog.Changed
	cancel func()
	// send sends messages on a channel; tests have their own.
	channels map[Channel]sender
}

// New returns the notifications of the workspaces in d. Close ends its subscription.
func New(d *db.DB, wake Notifier, o Options) *Service {
	public, err := url.Parse(strings.TrimSuffix(o.PublicURL, "/"))
	if err != nil || public.Host == "" {
		public = &url.URL{Scheme: "http", Host: "localhost"}
	}
	s := &Service{db: d, wake: wake, log: o.Log, public: public, key: o.Key, mail: o.Mail,
		ring: vault.NewRing("fleetboard notifications v1", o.Key, o.Earlier...)}
	s.guard = outbound.NewGuard(o.Allow, o.Resolver)
	client := outbound.Client(s.guard.Transport(connectTimeout), sendTimeout)
	s.pusher = pusher{client: client, keys: newPushKeys(o.Key), subject: subject(public)}
	s.hooks = hooks{client}
	s.channels = map[Channel]sender{Browser: s.sendPush, Email: s.sendMail, Webhook: s.sendHook}
	s.cancel = wake.Subscribe(eventlog.Topics, s.logs.Note)
	return s
}

// Close ends the subscription.
func (s *Service) Close() { s.cancel() }

// link returns an address of a page.
func (s *Service) link(path string) string { return s.public.String() + path }

// Look notes what members are to be told of in the workspaces whose logs have moved, and where a
// decision is to be handed on. It returns of how many workspaces it noted something.
func (s *Service) Look(ctx context.Context) (n int, err error) {
	list, all := s.logs.Take(time.Now())
	err = s.db.In(ctx, db.System, func(tx db.Tx) error {
		watched, err := q.NotificationWorkspaces(ctx, tx)
		if err != nil {
			return err
		}
		late, err := q.NotificationEscalating(ctx, tx)
		if err != nil {
			return err
		}
		if list = both(watched, append(list, late...)); all {
			list = watched
		}
		return nil
	})
	if err != nil {
		s.logs.Note("") // all are looked at next time
		return 0, fmt.Errorf("workspaces to notify: %w", err)
	}
	for _, workspace := range list {
		noted, failed := s.look(ctx, workspace)
		if noted {
			n++
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("notifications of %s: %w", workspace, failed))
			s.logs.Note(eventlog.Topic(workspace))
		}
	}
	return n, err
}

// both returns what is in both lists, once.
func both(all, some []ids.ID) (list []ids.ID) {
	in := map[ids.ID]bool{}
	for _, id := range some {
		in[id] = true
	}
	for _, id := range all {
		if in[id] {
			list = append(list, id)
		}
	}
	return list
}

// look notes what is to be told in a workspace. One process does at a time.
func (s *Service) look(ctx context.Context, workspace ids.ID) (noted bool, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		if err := q.NamedLock(ctx, tx, "notifications:"+workspace.String()); err != nil {
			return err
		}
		if _, err := q.NotificationSweep(ctx, tx, workspace); err != nil {
			return err
		}
		known, err := stateTx(ctx, tx, workspace)
		if err != nil || len(known.people) == 0 {
			return err
		}
		out := plan(time.Now(), known)
		noted = !out.none()
		return writeTx(ctx, tx, workspace, out)
	})
	return noted, err
}
