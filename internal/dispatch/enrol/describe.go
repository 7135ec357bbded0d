package enrol

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// DescribeFactoryTx writes what an agent says of its factory, without the secrets of
// jobs that are held for it. It locks the factory.
func (s *Service) DescribeFactoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal, f fleet.FactoryInfo) error {
	held, err := updateFactoryTx(ctx, tx, who, f, false)
	if err != nil || len(held) == 0 {
		return err
	}
	hidden, err := s.jobs.Secrets.HeldTx(ctx, tx, who.Workspace, secrets.Holders{Agents: []ids.ID{who.Agent}, Factories: held})
	if err != nil {
		return err
	}
	f = f.Clone()
	hidden.HideAll(f.Texts()...)
	_, err = updateFactoryTx(ctx, tx, who, f, true)
	return err
}
