package notifications

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func pushPlace(workspace, id ids.ID) vault.Place {
	return vault.Place{Table: "push_subscription", Column: "sealed", Workspace: workspace, Row: id}
}

// saveBrowserTx saves the subscription of a browser, sealed; one of the same address is replaced.
func (s *Service) saveBrowserTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID, hash, plain []byte, name string) error {
	return q.PushSubscriptionSave(ctx, tx, dbsqlc.PushSubscriptionSaveParams{WorkspaceID: who.Workspace, ID: id, AccountID: who.Account,
		EndpointHash: hash, Sealed: s.ring.Seal(pushPlace(who.Workspace, id), plain), ServerKey: s.pusher.keys.public, Browser: name})
}

func (s *Service) browserStatesTx(ctx context.Context, tx db.Tx, who tenancy.Principal) ([]BrowserState, error) {
	rows, err := q.PushSubscriptions(ctx, tx, who.Workspace, who.Account)
	return db.Map(rows, err, func(r dbsqlc.PushSubscriptionsRow) BrowserState {
		return BrowserState{ID: r.ID, Name: r.Browser, Since: r.CreatedAt, Outdated: r.ServerKey != s.pusher.keys.public}
	})
}

// browsers returns a person's browsers.
func (s *Service) browsers(ctx context.Context, workspace, account ids.ID) (list []browser, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		rows, err := q.PushSubscriptions(ctx, tx, workspace, account)
		list, err = db.Map(rows, err, func(r dbsqlc.PushSubscriptionsRow) browser {
			b := browser{id: r.ID, serverKey: r.ServerKey}
			plain, _, err := s.ring.Open(pushPlace(workspace, r.ID), r.Sealed)
			b.unread = errors.Join(err, json.Unmarshal(plain, &b.sub)) != nil
			return b
		})
		return err
	})
	return list, err
}
