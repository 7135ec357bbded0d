package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// KeySize is the length of every key, in bytes: AES-256.
const KeySize = 32

// ErrRefused is the answer to a value that does not open: changed, moved from
// its place, or sealed with another key. Which of them is not said.
var ErrRefused = errors.New("the sealed value does not open here")

// Place is where a value is stored. What was sealed for one place opens in no
// other.
type Place struct {
	Table, Column string
	Workspace     ids.ID // ids.Nil for a table of people
	Row           ids.ID
	Name          string // distinguishes the values of one row; "" where there is one
}

func (p Place) bytes() []byte {
	return fmt.Appendf(nil, "%q %q %s %s %q", p.Table, p.Column, p.Workspace, p.Row, p.Name)
}

// Seal encrypts a value for its place. The key has KeySize bytes; another length
// is a defect of the caller and panics. One key is good for 2^32 values.
func Seal(key []byte, place Place, plain []byte) []byte {
	return gcm(key).Seal(nil, nil, plain, place.bytes()) //nolint:gosec // the cipher makes its nonce itself
}

// Open decrypts what Seal made for the same place with the same key. Any other
// input is ErrRefused.
func Open(key []byte, place Place, sealed []byte) ([]byte, error) {
	plain, err := gcm(key).Open(nil, nil, sealed, place.bytes())
	if err != nil {
		return nil, ErrRefused
	}
	return plain, nil
}

// gcm carries the nonce in front of the sealed bytes, random for each.
func gcm(key []byte) cipher.AEAD {
	if len(key) != KeySize {
		panic(fmt.Sprintf("vault: the key has %d bytes, not %d", len(key), KeySize))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only of a wrong length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only of a block that is not AES
	}
	return aead
}
