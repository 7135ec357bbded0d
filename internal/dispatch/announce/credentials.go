package announce

import (
	"context"
	"errors"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// credentialsLast is how long credentials of a factory are good: as long as an agent's token.
const credentialsLast = time.Hour

// Credentials returns with what the program of an agent's factory connects to the broker. Faults:
// Forbidden for others than agents; Superseded for a boot that was replaced; NotFound where no broker
// keeps offers, or no key signs credentials; Unavailable while the broker is away.
func (s *Service) Credentials(ctx context.Context, who tenancy.Principal) (c transport.FactoryCredentials, err error) {
	if err := lease.RequireAgent(who); err != nil {
		return c, err
	}
	if s.broker == nil {
		return c, noCredentials()
	}
	var factory ids.ID
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		factory, err = factoryTx(ctx, tx, who)
		return err
	})
	if err != nil {
		return c, err
	}
	c, err = s.broker.Credentials(who.Workspace, factory, credentialsLast)
	switch {
	case errors.Is(err, transport.ErrNoCredentials):
		return c, noCredentials()
	case err != nil:
		return c, fault.Wrap(err, fault.Unavailable, "The broker is not there at the moment.")
	}
	return c, nil
}

func noCredentials() error {
	return fault.New(fault.NotFound, "This server makes no credentials for a broker: factories hear of offers by claims that wait.")
}
