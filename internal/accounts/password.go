package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// A password's length in characters. Length is what makes a password strong; the
// only other rule is that it is none that everybody tries (common.go).
const (
	minPassword = 12
	maxPassword = 128
)

// hashCost is that of one hash: the second choice of RFC 9106 section 4, and well
// above the least that OWASP allows.
var hashCost = cost{memory: 64 * 1024, time: 3, threads: 4}

const (
	hashSize = 32
	saltSize = 16
)

// cost is what one argon2id hash takes.
type cost struct {
	memory  uint32 // KiB
	time    uint32 // passes over the memory
	threads uint8
}

// weakerThan reports whether a hash of this cost is to be replaced by one of c.
func (h cost) weakerThan(c cost) bool { return h.memory < c.memory || h.time < c.time }

// passwords makes and checks argon2id hashes in PHC form, as its queue lets it.
type passwords struct {
	cost  cost // of a new hash
	queue *hashQueue
	// nobody stands in for the hash of an account that is not there, so that
	// both answers take as long. No password fits it.
	nobody string
}

func newPasswords(of cost) *passwords {
	return &passwords{
		cost:   of,
		queue:  newHashQueue(),
		nobody: phc{cost: of, salt: random(saltSize), sum: random(hashSize)}.encode(),
	}
}

// room refuses where the asker would wait too long. Fault: Unavailable with
// Details["retry_after"] in seconds.
func (p *passwords) room(who asker) error { return p.queue.room(who) }

// hash returns the PHC string of a password under a fresh salt. It waits for
// its turn until ctx ends.
func (p *passwords) hash(ctx context.Context, who asker, password string) (string, error) {
	fresh := phc{cost: p.cost, salt: random(saltSize)}
	var err error
	if fresh.sum, err = p.derive(ctx, who, password, fresh); err != nil {
		return "", err
	}
	return fresh.encode(), nil
}

// check reports whether password made the hash, and whether the hash is weaker
// than new ones are. An empty hash takes as long as another and fits nothing.
func (p *passwords) check(ctx context.Context, who asker, encoded, password string) (ok, weak bool, err error) {
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

func (p *passwords) derive(ctx context.Context, who asker, password string, as phc) ([]byte, error) {
	if err := p.queue.enter(ctx, who); err != nil {
		return nil, err
	}
	defer p.queue.leave(time.Now())
	return argon2.IDKey([]byte(password), as.salt, as.time, as.memory, as.threads, hashSize), nil
}

// phc is what a PHC string of argon2id says.
type phc struct {
	cost
	salt, sum []byte
}

func (h phc) encode() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, h.memory, h.time, h.threads, b64(h.salt), b64(h.sum))
}

func decodePHC(encoded string) (phc, error) {
	var out phc
	part := strings.Split(encoded, "$")
	if len(part) != 6 || part[1] != "argon2id" || part[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return out, fmt.Errorf("a stored password is not argon2id version %d", argon2.Version)
	}
	if _, err := fmt.Sscanf(part[3], "m=%d,t=%d,p=%d", &out.memory, &out.time, &out.threads); err != nil {
		return out, fmt.Errorf("the cost of a stored password: %w", err)
	}
	var err error
	if out.salt, err = base64.RawStdEncoding.DecodeString(part[4]); err != nil {
		return out, fmt.Errorf("the salt of a stored password: %w", err)
	}
	if out.sum, err = base64.RawStdEncoding.DecodeString(part[5]); err != nil {
		return out, fmt.Errorf("the hash of a stored password: %w", err)
	}
	if out.time == 0 || out.threads == 0 || len(out.sum) != hashSize {
		return out, fmt.Errorf("a stored password has no cost or another length")
	}
	return out, nil
}

// checkPassword returns what is wrong with a password as a new one of the account
// with these e-mails, "" if nothing is.
func checkPassword(password string, emails ...string) string {
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password):
		return "Use letters, digits and signs only."
	case n < minPassword:
		return fmt.Sprintf("Use at least %d characters.", minPassword)
	case n > maxPassword:
		return fmt.Sprintf("Use at most %d characters.", maxPassword)
	case common(password, emails...):
		return "This is one of the first passwords that are tried. A sentence of your own is better."
	default:
		return ""
	}
}

// random returns n bytes nobody can guess. The operating system's generator
// does not fail on any platform that Go supports.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
