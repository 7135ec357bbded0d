package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

type factoryRow struct {
	id         ids.ID
	enrolment  *ids.ID
	isNew      bool
	secretHeld bool // its agents hold a job with secrets
}

type agentRow struct {
	id, factoryID ids.ID
	factory       string
	boot          string
	enrolment     *ids.ID
	ended         bool // at once, by a person
	secretHeld    bool // it holds a job with secrets
}

// enrolmentOf is the enrolment token that somebody asks with.
func enrolmentOf(who tenancy.Principal) *ids.ID {
	if who.Token == ids.Nil {
		return nil
	}
	return &who.Token
}

// lockFactoryTx locks a factory, and makes it where it is not there.
func lockFactoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name string) (factoryRow, error) {
	made, err := q.FactoryEnsure(ctx, tx, dbsqlc.FactoryEnsureParams{
		WorkspaceID: who.Workspace, ID: ids.New(), Name: name, EnrolmentID: enrolmentOf(who)})
	if err != nil {
		return factoryRow{}, fmt.Errorf("make factory: %w", err)
	}
	row, err := q.FactoryOwner(ctx, tx, dbsqlc.FactoryOwnerParams{WorkspaceID: who.Workspace, Name: name})
	if err != nil {
		return factoryRow{}, fmt.Errorf("lock factory: %w", err)
	}
	return factoryRow{id: row.ID, enrolment: row.EnrolmentID, isNew: made > 0, secretHeld: row.SecretHeld}, nil
}

func describeFactoryTx(ctx context.Context, tx db.Tx, workspace ids.ID, f factoryRow, in fleet.FactoryInfo) error {
	repos, err := encodeRepos(in.Repos)
	if err != nil {
		return err
	}
	err = q.FactoryDescribe(ctx, tx, dbsqlc.FactoryDescribeParams{
		WorkspaceID: workspace, ID: f.id, Os: in.OS, Host: in.Host, EnrolmentID: f.enrolment,
		Engines: orEmpty(in.Engines), Capabilities: orEmpty(in.Capabilities), Repos: repos,
		Seats: int32(in.Seats), //nolint:gosec // 1..1000
	})
	if err != nil {
		return fmt.Errorf("describe factory: %w", err)
	}
	return nil
}

// lockAgentTx locks an agent; it has no id where there is none of this name.
func lockAgentTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (agentRow, error) {
	row, err := q.AgentLock(ctx, tx, dbsqlc.AgentLockParams{WorkspaceID: workspace, Name: name})
	if errors.Is(err, pgx.ErrNoRows) {
		return agentRow{}, nil
	}
	if err != nil {
		return agentRow{}, fmt.Errorf("lock agent: %w", err)
	}
	return agentRow{id: row.ID, factoryID: row.FactoryID, factory: row.Factory, boot: row.BootID,
		enrolment: row.EnrolmentID, ended: row.Ended, secretHeld: row.SecretHeld}, nil
}

// ownerTx reads an enrolment token as an owner.
func ownerTx(ctx context.Context, tx db.Tx, workspace ids.ID, enrolment *ids.ID) (owner, error) {
	if enrolment == nil {
		return owner{}, nil
	}
	row, err := q.EnrolmentReach(ctx, tx, dbsqlc.EnrolmentReachParams{WorkspaceID: workspace, ID: *enrolment})
	if errors.Is(err, pgx.ErrNoRows) {
		return owner{}, nil
	}
	if err != nil {
		return owner{}, fmt.Errorf("read enrolment token: %w", err)
	}
	return owner{token: *enrolment, reach: tenancy.Scope{Products: row.Products, Capabilities: row.Capabilities, Factory: row.Factory}}, nil
}
