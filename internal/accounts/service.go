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
)

// KeySize is the length of the server's secret key.
const KeySize = 32

// sweepRows bounds how much one Expire deletes from each table.
const sweepRows = 1000

// Service joins the services of all parts. It holds no rule: whoever needs one
// part names the methods of that part.
type Service struct {
	*personService
	*deviceService
	*sessionService
	*loginService
	*factorService
	*identityService
	*memberService
	*workspaceService
	*tokenService
	*setupService

	db *db.DB
}

// Config is what the parts are made of.
type Config struct {
	DB *db.DB
	// Key is the server's secret of KeySize bytes; all web processes of one database
	// have the same one. Earlier keys open what they sealed.
	Key     []byte
	Earlier [][]byte
	Wake    Notifier
	Log     *slog.Logger
	// Now is the clock of tokens, devices and codes, and HashCost what a new hash of
	// a password takes.
	Now      func() time.Time
	HashCost cost
}

// New returns the service with the real clock and the usual cost of a hash; see
// Config for the key.
func New(d *db.DB, key []byte, wake Notifier, log *slog.Logger, earlier ...[]byte) *Service {
	return NewWith(Config{DB: d, Key: key, Earlier: earlier, Wake: wake, Log: log, Now: time.Now, HashCost: hashCost})
}

// NewWith returns the service of a configuration. A key of another length is a
// defect of the caller and panics.
func NewWith(c Config) *Service {
	if len(c.Key) != KeySize {
		panic(fmt.Sprintf("accounts: the key has %d bytes, not %d", len(c.Key), KeySize))
	}
	hashes := newPasswords(c.HashCost)
	people := newPersonService(c.DB)
	devices := newDeviceService(derive(c.Key, "fleetboard known device hmac v1", sha256.Size), c.Now)
	attempts := newThrottleService(c.DB, derive(c.Key, "fleetboard login throttle hmac v1", sha256.Size), devices, c.Log)
	logins := newLoginService(c.DB, hashes, people, attempts, devices)
	seals := vault.NewRing("fleetboard second factor v1", c.Key, c.Earlier...)
	list := newMemberService(c.DB, c.Wake, hashes)
	workspaces := newWorkspaceService(c.DB, list)
	signing := ed25519.NewKeyFromSeed(derive(c.Key, "fleetboard agent token ed25519 v1", ed25519.SeedSize))
	return &Service{
		personService:    people,
		deviceService:    devices,
		sessionService:   newSessionService(c.DB),
		loginService:     logins,
		factorService:    newFactorService(c.DB, seals, people, logins, attempts, c.Now),
		identityService:  newIdentityService(c.DB, c.Wake, logins, list, c.Log),
		memberService:    list,
		workspaceService: workspaces,
		tokenService:     newTokenService(c.DB, c.Wake, workspaces, signing, c.Now),
		setupService:     newSetupService(c.DB, hashes, c.Log),
		db:               c.DB,
	}
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
		if err := expireSessionsTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire sessions: %w", err)
		}
		if err := expireLinksTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire set-up links: %w", err)
		}
		if err := expireAttemptsTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire log-in counts: %w", err)
		}
		if err := expireLogInsTx(ctx, tx, sweepRows); err != nil {
			return fmt.Errorf("expire log ins: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.expireRevocations(ctx, sweepRows)
}
