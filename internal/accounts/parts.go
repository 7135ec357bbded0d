package accounts

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/identities"
	"github.com/fleetboard/fleetboard/internal/accounts/issuers"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/accounts/twofactor"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
)

// sweepRows bounds how much one Expire deletes from each table.
const sweepRows = 1000

// Notifier carries wake-ups between the processes of one database.
type Notifier = tokens.Notifier

// Parts are the services of the parts, joined. A caller takes those it needs.
type Parts struct {
	People        *people.Service
	Sessions      *sessions.Service
	Devices       *devices.Service
	LogIns        *login.Service
	SecondFactors *twofactor.Service
	Identities    *identities.Service
	Members       *members.Service
	Workspaces    *workspaces.Service
	Tokens        *tokens.Service
	Issuers       *issuers.Service
	Setup         *setup.Service

	// Hashes and Throttle serve the parts.
	Hashes   *passwords.Hasher
	Throttle *throttle.Service

	db *db.DB
}

// Config is what the parts are made of.
type Config struct {
	DB *db.DB
	// Key is the server's secret of vault.KeySize bytes, the same in all web processes of
	// one database. Earlier keys open what they sealed.
	Key     []byte
	Earlier [][]byte
	Wake    Notifier
	Log     *slog.Logger
	// Now is the clock of agents' tokens, devices and codes.
	Now func() time.Time
	// HashCost is the cost of a new password hash.
	HashCost passwords.Cost
	// IssuerNetworks are networks that are not public in which trusted issuers are asked all the same.
	IssuerNetworks []netip.Prefix
}

// New returns the parts of a configuration. A key of another length is a
// defect of the caller and panics.
func New(c Config) *Parts {
	p := &Parts{db: c.DB, Hashes: passwords.New(c.HashCost)}
	p.People = people.New(c.DB)
	p.Sessions = sessions.New(c.DB)
	p.Devices = devices.New(vault.Derive(c.Key, "fleetboard known device hmac v1", sha256.Size), c.Now)
	p.Throttle = throttle.New(c.DB, vault.Derive(c.Key, "fleetboard login throttle hmac v1", sha256.Size), p.Devices, c.Log)
	p.LogIns = login.New(c.DB, p.Hashes, p.People, p.Throttle, p.Devices)
	seals := vault.NewRing("fleetboard second factor v1", c.Key, c.Earlier...)
	p.SecondFactors = twofactor.New(c.DB, seals, p.People, p.LogIns, p.Throttle, c.Now)
	p.Members = members.New(c.DB, c.Wake, p.Hashes)
	p.Identities = identities.New(c.DB, c.Wake, p.LogIns, p.Members, c.Log)
	p.Workspaces = workspaces.New(c.DB, p.Members)
	signing := ed25519.NewKeyFromSeed(vault.Derive(c.Key, "fleetboard agent token ed25519 v1", ed25519.SeedSize))
	p.Tokens = tokens.New(c.DB, c.Wake, p.Workspaces, signing, c.Now)
	p.Issuers = issuers.New(c.DB, c.Wake, p.Tokens, oidc.NewWorkloads(c.IssuerNetworks, c.Now))
	p.Setup = setup.New(c.DB, p.Hashes, p.Workspaces, c.Log)
	return p
}

// Expire deletes what nobody needs any more: sessions and set-up links after
// their time, counts of failed log ins after a day, revocations that no token
// outlives. At most a thousand rows of each; a loop calls it again.
func (p *Parts) Expire(ctx context.Context) error {
	err := p.db.In(ctx, db.None, func(tx db.Tx) error {
		if err := sessions.ExpireTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire sessions: %w", err)
		}
		if err := setup.ExpireTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire set-up links: %w", err)
		}
		if err := throttle.ExpireTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire log-in counts: %w", err)
		}
		if err := login.ExpireTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire log ins: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.Tokens.ExpireRevocations(ctx, sweepRows)
}
