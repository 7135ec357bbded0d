package passwords

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
)

// DefaultCost is that of one hash: the second choice of RFC 9106 section 4, and well
// above the least that OWASP allows.
var DefaultCost = Cost{Memory: 64 * 1024, Time: 3, Threads: 4}

const (
	hashSize = 32
	saltSize = 16
)

// Cost is what one argon2id hash takes.
type Cost struct {
	Memory  uint32 // KiB
	Time    uint32 // passes over the memory
	Threads uint8
}

// weakerThan reports whether a hash of this cost is to be replaced by one of c.
func (h Cost) weakerThan(c Cost) bool { return h.Memory < c.Memory || h.Time < c.Time }

// Hasher makes and checks argon2id hashes in PHC form, as its queue lets it.
type Hasher struct {
	cost  Cost // of a new hash
	queue *hashQueue
	// nobody stands in for the hash of an account that is not there, so that
	// both answers take as long. No password fits it.
	nobody string
}

// New returns a hasher whose new hashes have a cost.
func New(of Cost) *Hasher {
	return &Hasher{
		cost:   of,
		queue:  newHashQueue(),
		nobody: phc{Cost: of, salt: secrets.Random(saltSize), sum: secrets.Random(hashSize)}.encode(),
	}
}

// Room refuses where the caller would wait too long. Fault: Unavailable with
// Details["retry_after"] in seconds.
func (p *Hasher) Room(who Asker) error { return p.queue.room(who) }

// Hash returns the PHC string of a password under a fresh salt. It waits for
// its turn until ctx ends.
func (p *Hasher) Hash(ctx context.Context, who Asker, password string) (string, error) {
	fresh := phc{Cost: p.cost, salt: secrets.Random(saltSize)}
	var err error
	if fresh.sum, err = p.derive(ctx, who, password, fresh); err != nil {
		return "", err
	}
	return fresh.encode(), nil
}

// Check reports whether password made the hash, and whether the hash is weaker
// than new ones are. An empty hash takes as long as another and fits nothing.
func (p *Hasher) Check(ctx context.Context, who Asker, encoded, password string) (ok, weak bool, err error) {
	known := encoded != ""
	if !known {
		encoded = p.nobody
	}
	stored, err := decodePHC(encoded)
	if err != nil {
		return false, false, err
	}
	sum, err := p.derive(ctx, who, password, stored)
	if err != nil {
		return false, false, err
	}
	return subtle.ConstantTimeCompare(sum, stored.sum) == 1 && known, stored.weakerThan(p.cost), nil
}

func (p *Hasher) derive(ctx context.Context, who Asker, password string, as phc) ([]byte, error) {
	if err := p.queue.enter(ctx, who); err != nil {
		return nil, err
	}
	defer p.queue.leave(time.Now())
	return argon2.IDKey([]byte(password), as.salt, as.Time, as.Memory, as.Threads, hashSize), nil
}

// phc is what a PHC string of argon2id says.
type phc struct {
	Cost
	salt, sum []byte
}

func (h phc) encode() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, h.Memory, h.Time, h.Threads, b64(h.salt), b64(h.sum))
}

func decodePHC(encoded string) (phc, error) {
	var out phc
	part := strings.Split(encoded, "$")
	if len(part) != 6 || part[1] != "argon2id" || part[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return out, fmt.Errorf("a stored password is not argon2id version %d", argon2.Version)
	}
	if _, err := fmt.Sscanf(part[3], "m=%d,t=%d,p=%d", &out.Memory, &out.Time, &out.Threads); err != nil {
		return out, fmt.Errorf("the cost of a stored password: %w", err)
	}
	var err error
	if out.salt, err = base64.RawStdEncoding.DecodeString(part[4]); err != nil {
		return out, fmt.Errorf("the salt of a stored password: %w", err)
	}
	if out.sum, err = base64.RawStdEncoding.DecodeString(part[5]); err != nil {
		return out, fmt.Errorf("the hash of a stored password: %w", err)
	}
	if out.Time == 0 || out.Threads == 0 || len(out.sum) != hashSize {
		return out, fmt.Errorf("a stored password has no cost or another length")
	}
	return out, nil
}
