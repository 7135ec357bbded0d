package secrets

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"math/big"
	"strings"
)

// Random returns n bytes nobody can guess. The operating system's generator
// does not fail on any platform that Go supports.
func Random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// The kinds of secret that are handed out as text. Their first word lets a
// scanner of leaked secrets know them.
const (
	Person     = "person"
	Enrolment  = "enrolment"
	Setup      = "setup"
	Invitation = "invite"
)

const (
	// secretBytes of randomness; base 62 writes them in secretDigits.
	secretBytes  = 24
	secretDigits = 33
	crcDigits    = 6
	// hintDigits of the random part may be shown to distinguish tokens.
	hintDigits = 6
)

// New makes fb_<kind>_<random>_<crc>.
func New(kind string) string {
	body := "fb_" + kind + "_" + base62(new(big.Int).SetBytes(Random(secretBytes)), secretDigits)
	return body + "_" + checksum(body)
}

// Kind returns the kind of a well-formed secret. A typing error, a cut or
// a foreign token gives false, without a look at the database.
func Kind(secret string) (kind string, ok bool) {
	part := strings.Split(secret, "_")
	if len(part) != 4 || part[0] != "fb" || len(part[2]) != secretDigits || len(part[3]) != crcDigits {
		return "", false
	}
	body := secret[:len(secret)-crcDigits-1]
	return part[1], checksum(body) == part[3]
}

// Hash returns what is stored of a secret. A fast hash is right: there is
// nothing to guess in 192 random bits.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Hint returns the part of a secret that may be shown.
func Hint(secret string) string {
	part := strings.Split(secret, "_")
	return "fb_" + part[1] + "_" + part[2][:hintDigits] + "…"
}

func checksum(body string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), crcDigits)
}

func base62(n *big.Int, digits int) string {
	return fmt.Sprintf("%0*s", digits, n.Text(62))
}
