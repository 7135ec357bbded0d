package blobs

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Sum is the SHA-256 of a content, which is its name.
type Sum [sha256.Size]byte

// ParseSum reads a sum in lower-case hexadecimal digits; NotFound where it is none, as of
// a blob that is not there.
func ParseSum(text string) (sum Sum, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(sum) || hex.EncodeToString(raw) != text {
		return Sum{}, notFound()
	}
	return Sum(raw), nil
}

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// MarshalText is String, for JSON.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Blob is a stored content.
type Blob struct {
	Sum       Sum
	Size      int64
	CreatedAt time.Time
}

// notFound is said of a blob that is not there, and of one that the caller may not read.
func notFound() error {
	return fault.New(fault.NotFound, "There is no such blob here.")
}
