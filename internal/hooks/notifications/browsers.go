package notifications

import (
	"context"
	"crypto/sha256"
	"encoding/json"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Subscribe has a browser show a person's messages, and returns its id. The oldest gives way where
// there are too many. Faults: Forbidden; Validation.
func (s *Service) Subscribe(ctx context.Context, who tenancy.Principal, sub Subscription) (ids.ID, error) {
	if err := requirePerson(who); err != nil {
		return ids.Nil, err
	}
	if err := sub.check(); err != nil {
		return ids.Nil, err
	}
	id, name := ids.New(), oneLine(sub.Browser, 100)
	if name == "" {
		name = "A browser"
	}
	sub.Browser = ""
	plain, err := json.Marshal(sub)
	if err != nil {
		return ids.Nil, err
	}
	hash := sha256.Sum256([]byte(sub.Endpoint))
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := q.NamedLock(ctx, tx, "notifications:"+who.Workspace.String()); err != nil {
			return err
		}
		if err := s.saveBrowserTx(ctx, tx, who, id, hash[:], plain, name); err != nil {
			return err
		}
		return q.PushSubscriptionTrim(ctx, tx, who.Workspace, who.Account, MaxBrowsers)
	})
	return id, err
}

// Unsubscribe forgets a browser by its id. Faults: Forbidden; NotFound.
func (s *Service) Unsubscribe(ctx context.Context, who tenancy.Principal, id ids.ID) error {
	return s.forget(ctx, who, func(tx db.Tx) (int64, error) {
		return q.PushSubscriptionDelete(ctx, tx, who.Workspace, who.Account, id)
	})
}

// UnsubscribeEndpoint forgets a browser by its address. Faults: Forbidden; NotFound.
func (s *Service) UnsubscribeEndpoint(ctx context.Context, who tenancy.Principal, endpoint string) error {
	hash := sha256.Sum256([]byte(endpoint))
	return s.forget(ctx, who, func(tx db.Tx) (int64, error) {
		return q.PushSubscriptionForget(ctx, tx, who.Workspace, who.Account, hash[:])
	})
}

func (s *Service) forget(ctx context.Context, who tenancy.Principal, do func(tx db.Tx) (int64, error)) error {
	if err := requirePerson(who); err != nil {
		return err
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		n, err := do(tx)
		if err == nil && n == 0 {
			return fault.New(fault.NotFound, "There is no such browser.")
		}
		return err
	})
}
