package issuers

import (
	"context"
	"encoding/json"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// listTx returns the issuers with a name, or all where it is empty.
func listTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name string) ([]Issuer, error) {
	rows, err := q.TrustedIssuerList(ctx, tx, who.Workspace, name, MaxIssuers)
	if err != nil {
		return nil, err
	}
	list := make([]Issuer, 0, len(rows))
	for _, row := range rows {
		i := Issuer{ID: row.ID, Name: row.Name, CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt, LastUsedAt: row.LastUsedAt,
			Live: row.Live, Now: row.Now, token: row.TokenID,
			Rule: Rule{Issuer: row.Issuer, Audience: row.Audience, Roles: row.Roles, MaySubmit: row.MaySubmit,
				Scope: tenancy.Scope{Products: row.Products, Capabilities: row.Capabilities, Factory: row.Factory}}}
		if err := json.Unmarshal(row.Claims, &i.Claims); err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

func findTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name string) (Issuer, error) {
	list, err := listTx(ctx, tx, who, name)
	switch {
	case err != nil:
		return Issuer{}, err
	case name == "" || len(list) == 0:
		return Issuer{}, fault.New(fault.NotFound, "There is no trusted issuer %.64s.", name)
	}
	return list[0], nil
}

func insertTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id, token ids.ID, name string, r Rule) error {
	claims, err := json.Marshal(r.Claims)
	if err != nil {
		return err
	}
	return q.TrustedIssuerInsert(ctx, tx, dbsqlc.TrustedIssuerInsertParams{WorkspaceID: who.Workspace, ID: id, Name: name,
		Issuer: r.Issuer, Audience: r.Audience, Claims: claims, TokenID: token, CreatedBy: who.Name})
}

// ruleTx returns what a token has to say.
func ruleTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (r Rule, err error) {
	row, err := q.TrustedIssuerRule(ctx, tx, who.Workspace, id)
	if ok, err := db.Found(err); !ok {
		if err == nil {
			err = fault.New(fault.TokenInvalid, "There is no such trusted issuer.")
		}
		return r, err
	}
	r = Rule{Issuer: row.Issuer, Audience: row.Audience}
	return r, json.Unmarshal(row.Claims, &r.Claims)
}

// useTx notes which agent a token registers, and refuses another one.
func useTx(ctx context.Context, tx db.Tx, who tenancy.Principal, issuer ids.ID, id oidc.Identity, agent string) error {
	if err := q.WorkloadTokenExpire(ctx, tx, who.Workspace); err != nil {
		return err
	}
	first, err := q.WorkloadTokenUse(ctx, tx, dbsqlc.WorkloadTokenUseParams{WorkspaceID: who.Workspace, IssuerID: issuer,
		TokenHash: id.Token[:], Agent: agent, ExpiresAt: id.Expires})
	if err == nil && first != agent {
		err = fault.New(fault.TokenInvalid, "The token of the workload is not accepted: it has registered another agent.")
	}
	return err
}
