package accounts

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"fleetboard/db"
	"fleetboard/db/vault"
	"fleetboard/internal/accounts/devices"
	"fleetboard/internal/accounts/identities"
	"fleetboard/internal/accounts/login"
	"fleetboard/internal/accounts/members"
	"fleetboard/internal/accounts/passwords"
	"fleetboard/internal/accounts/people"
	"fleetboard/internal/accounts/sessions"
	"fleetboard/internal/accounts/setup"
	"fleetboard/internal/accounts/throttle"
	"fleetboard/internal/accounts/tokens"
	"fleetboard/internal/accounts/twofactor"
	"fleetboard/internal/accounts/workspaces"
)

// KeySize is the length of the server's secret key in bytes.
const KeySize = 32

// sweepRows bounds how much one Expire deletes from each table.
const sweepRows = 1000

// Notifier carries wake-ups between the processes of one database.
type Notifier = tokens.Notifier

// The services of the parts, under names that tell them apart.
type (
	peopleService     = people.Service
	sessionsService   = sessions.Service
	devicesService    = devices.Service
	loginService      = login.Service
	twofactorService  = twofactor.Service
	identitiesService = identities.Service
	membersService    = members.Service
	workspacesService = workspaces.Service
	tokensService     = tokens.Service
	setupService      = setup.Service
)

// Service joins the services of the parts and holds no rule. A caller declares
// the few methods that it needs.
type Service struct {
	*peopleService
	*sessionsService
	*devicesService
	*loginService
	*twofactorService
	*identitiesService
	*membersService
	*workspacesService
	*tokensService
	*setupService

	// Hashes and Throttle serve the parts.
	Hashes   *passwords.Hasher
	Throttle *throttle.Service

	db *db.DB
}

// Config is what a Service is made of.
type Config struct {
	DB *db.DB
	// Key is the server's secret of KeySize bytes, the same in all web processes of
	// one database. Earlier keys open what they sealed.
	Key     []byte
	Earlier [][]byte
	Wake    Notifier
	Log     *slog.Logger
	// Now is the clock of agents' tokens, devices and codes.
	Now func() time.Time
	// HashCost is the cost of a new password hash.
	HashCost passwords.Cost
}

// New returns the service with the real clock and the usual cost of a hash; see
// Config for the key.
func New(d *db.DB, key []byte, wake Notifier, log *slog.Logger, earlier ...[]byte) *Service {
	return NewWith(Config{DB: d, Key: key, Earlier: earlier, Wake: wake, Log: log, Now: time.Now, HashCost: passwords.DefaultCost})
}

// NewWith returns the service of a configuration. A key of another length is a
// defect of the caller and panics.
func NewWith(c Config) *Service {
	if len(c.Key) != KeySize {
		panic(fmt.Sprintf("accounts: the key has %d bytes, not %d", len(c.Key), KeySize))
	}
	s := &Service{db: c.DB, Hashes: passwords.New(c.HashCost)}
	s.peopleService = people.New(c.DB)
	s.sessionsService = sessions.New(c.DB)
	s.devicesService = devices.New(derive(c.Key, "fleetboard known device hmac v1", sha256.Size), c.Now)
	s.Throttle = throttle.New(c.DB, derive(c.Key, "fleetboard login throttle hmac v1", sha256.Size), s.devicesService, c.Log)
	s.loginService = login.New(c.DB, s.Hashes, s.peopleService, s.Throttle, s.devicesService)
	seals := vault.NewRing("fleetboard second factor v1", c.Key, c.Earlier...)
	s.twofactorService = twofactor.New(c.DB, seals, s.peopleService, s.loginService, s.Throttle, c.Now)
	s.membersService = members.New(c.DB, c.Wake, s.Hashes)
	s.identitiesService = identities.New(c.DB, c.Wake, s.loginService, s.membersService, c.Log)
	s.workspacesService = workspaces.New(c.DB, s.membersService)
	signing := ed25519.NewKeyFromSeed(derive(c.Key, "fleetboard agent token ed25519 v1", ed25519.SeedSize))
	s.tokensService = tokens.New(c.DB, c.Wake, s.workspacesService, signing, c.Now)
	s.setupService = setup.New(c.DB, s.Hashes, c.Log)
	return s
}

// derive gives each use of the server's key a key of its own.
func derive(key []byte, label string, size int) []byte {
	out, err := hkdf.Key(sha256.New, key, nil, label, size)
	if err != nil {
		// Only a size over 255 hashes is refused.
		panic(fmt.Sprintf("accounts: derive %s: %v", label, err))
	}
	return out
}

// Expire deletes what nobody needs any more: sessions and set-up links after
// their time, counts of failed log ins after a day, revocations that no token
// outlives. At most a thousand rows of each; a loop calls it again.
func (s *Service) Expire(ctx context.Context) error {
	err := s.db.InNone(ctx, func(tx db.Tx) error {
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
	return s.ExpireRevocations(ctx, sweepRows)
}
