package vault

import "crypto/rand"

// version is the first byte of every sealed value: how the rest is to be read.
const version = 1

// Sealed is a value as its row keeps it.
type Sealed struct {
	Key   int // the data key's id
	Bytes []byte
}

// Key is a data key of a workspace, for sealing.
type Key struct {
	ID    int
	plain []byte
}

// Seal encrypts a value for its place, which must be one of the key's workspace.
func (k Key) Seal(place Place, plain []byte) Sealed {
	return Sealed{Key: k.ID, Bytes: append([]byte{version}, Seal(k.plain, place, plain)...)}
}

// Keys are data keys of one workspace by id, for opening; nil for one that this
// process cannot use.
type Keys map[int][]byte

// Open decrypts a value in its place. ErrLocked where this process cannot use the
// key; anything else that is wrong is ErrRefused: changed, moved from its place,
// of a key or a form that nobody knows.
func (k Keys) Open(place Place, s Sealed) ([]byte, error) {
	key, known := k[s.Key]
	switch {
	case !known || len(s.Bytes) == 0 || s.Bytes[0] != version:
		return nil, ErrRefused
	case len(key) == 0:
		return nil, ErrLocked
	}
	return Open(key, place, s.Bytes[1:])
}

func newKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	return key
}
