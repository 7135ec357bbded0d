package accounts

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"fleetboard/db"
	"fleetboard/db/vault"
	"fleetboard/internal/tenancy"
)

// keySize is the length of the server's secret key.
const keySize = 32

// sweepRows bounds how much one Expire deletes from each table.
const sweepRows = 1000

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Service holds the use cases of people and tokens. It is safe for concurrent
// use.
type Service struct {
	db        *db.DB
	wake      Notifier
	log       *slog.Logger
	signing   ed25519.PrivateKey
	throttle  []byte
	devices   []byte     // signs known devices
	factors   vault.Ring // seals second factors
	passwords *passwords
	revoked   *revocations
	signed    *lru.Cache[[sha256.Size]byte, *tenancy.Principal] // by the hash of an agent's token
	now       func() time.Time
}

// New returns the service. The key is the server's secret of 32 bytes; all web
// processes of one database have the same one. Another length is a defect of
// the caller and panics. Earlier keys open what they sealed.
func New(d *db.DB, key []byte, wake Notifier, log *slog.Logger, earlier ...[]byte) *Service {
	if len(key) != keySize {
		panic(fmt.Sprintf("accounts: the key has %d bytes, not %d", len(key), keySize))
	}
	signed, err := lru.New[[sha256.Size]byte, *tenancy.Principal](signedKept)
	if err != nil {
		panic(fmt.Sprintf("accounts: %v", err)) // only a size below one is refused
	}
	s := &Service{
		db:        d,
		wake:      wake,
		log:       log,
		signing:   ed25519.NewKeyFromSeed(derive(key, "fleetboard agent token ed25519 v1", ed25519.SeedSize)),
		throttle:  derive(key, "fleetboard login throttle hmac v1", sha256.Size),
		devices:   derive(key, "fleetboard known device hmac v1", sha256.Size),
		factors:   vault.NewRing("fleetboard second factor v1", key, earlier...),
		passwords: newPasswords(hashCost),
		revoked:   newRevocations(),
		signed:    signed,
		now:       time.Now,
	}
	if wake != nil {
		wake.Subscribe(RevokedTopics, s.revoked.invalidate)
	}
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

// subject names who is throttled without telling who it is.
func (s *Service) subject(kind, value string) []byte {
	mac := hmac.New(sha256.New, s.throttle)
	mac.Write([]byte(kind + ":" + value))
	return mac.Sum(nil)
}

// Expire deletes what nobody needs any more: sessions and set-up links after
// their time, counts of failed log ins after a day, revocations that no token
// outlives. At most a thousand rows of each; a loop calls it again.
func (s *Service) Expire(ctx context.Context) error {
	if err := s.db.InNone(ctx, func(tx db.Tx) error { return expireTx(ctx, tx, sweepRows) }); err != nil {
		return err
	}
	return s.expireRevocations(ctx, sweepRows)
}
