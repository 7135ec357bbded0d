package vault

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// fingerprintSize is how many bytes distinguish one of the server's keys from another.
const fingerprintSize = 8

// Ring are the server's keys, made into keys of their own for one use: the
// present one seals, all of them open.
type Ring struct {
	keys [][]byte // the present one first
}

// NewRing derives the keys of a use from the server's key and the ones before
// it, each of KeySize bytes; another length is a defect of the caller and
// panics. Two uses never have a key in common.
func NewRing(use string, key []byte, earlier ...[]byte) Ring {
	var r Ring
	for _, k := range append([][]byte{key}, earlier...) {
		r.keys = append(r.keys, Derive(k, use, KeySize))
	}
	return r
}

// Seal encrypts a value for its place with the present key.
func (r Ring) Seal(place Place, plain []byte) []byte { return Seal(r.keys[0], place, plain) }

// Open decrypts what any of the keys has sealed for the place; present is false
// where it was an earlier one, and the value is to be sealed anew. Anything else
// is ErrRefused.
func (r Ring) Open(place Place, sealed []byte) (plain []byte, present bool, err error) {
	for i, key := range r.keys {
		if plain, err := Open(key, place, sealed); err == nil {
			return plain, i == 0, nil
		}
	}
	return nil, false, ErrRefused
}

// digests returns those of a text, by the present key and then by earlier ones.
func (r Ring) digests(text []byte) [][]byte {
	list := make([][]byte, 0, len(r.keys))
	for _, key := range r.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write(text)
		list = append(list, mac.Sum(nil))
	}
	return list
}

// Derive gives each use of the server's key a key of its own. A key that has not
// KeySize bytes is a defect of the caller and panics.
func Derive(key []byte, use string, size int) []byte {
	if len(key) != KeySize {
		panic(fmt.Sprintf("vault: the key has %d bytes, not %d", len(key), KeySize))
	}
	out, err := hkdf.Key(sha256.New, key, nil, use, size)
	if err != nil {
		panic(fmt.Sprintf("vault: derive %s: %v", use, err)) // only of a size over 255 hashes
	}
	return out
}

// fingerprint names a key of the server without telling it.
func fingerprint(key []byte) []byte {
	return Derive(key, "fleetboard server key name v1", fingerprintSize)
}
