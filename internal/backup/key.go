package backup

import (
	"crypto/rand"

	"golang.org/x/crypto/argon2"

	"github.com/fleetboard/fleetboard/db/vault"
)

// The cost of a passphrase: argon2id over 64 MB. It belongs to the format.
const (
	passphraseTime    = 3
	passphraseMemory  = 64 << 10 // in KB
	passphraseThreads = 4
	saltSize          = 16
)

// MinPassphrase is how many bytes a passphrase has at least.
const MinPassphrase = 12

// SealedKey is the server's secret key under a passphrase.
type SealedKey struct {
	Salt   []byte `json:"salt"`
	Sealed []byte `json:"sealed"`
}

var keyPlace = vault.Place{Table: "backup", Column: "secret_key"}

// sealKey encrypts a secret key.
func sealKey(secret []byte, passphrase string) *SealedKey {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return &SealedKey{Salt: salt, Sealed: vault.Seal(stretch(passphrase, salt), keyPlace, secret)}
}

// open decrypts the secret key.
func (k *SealedKey) open(passphrase string) ([]byte, error) {
	secret, err := vault.Open(stretch(passphrase, k.Salt), keyPlace, k.Sealed)
	if err != nil {
		return nil, refuse("the passphrase is not the one that the secret key of this backup was sealed with")
	}
	return secret, nil
}

func stretch(passphrase string, salt []byte) []byte {
	return argon2.IDKey([]byte(passphrase), salt, passphraseTime, passphraseMemory, passphraseThreads, vault.KeySize)
}
