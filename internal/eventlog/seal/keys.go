package seal

import (
	"bytes"
	"crypto/ed25519"
	"slices"

	"github.com/fleetboard/fleetboard/db/vault"
)

// Keys sign blocks, folds and marks, and say whose signatures count.
type Keys struct {
	private ed25519.PrivateKey
	trusted []ed25519.PublicKey
}

// NewKeys derives the signing key from the server's secret key. Signatures under
// earlier secret keys count too.
func NewKeys(secret []byte, earlier ...[]byte) *Keys {
	k := &Keys{private: derive(secret)}
	for _, s := range append([][]byte{secret}, earlier...) {
		k.trusted = append(k.trusted, derive(s).Public().(ed25519.PublicKey)) // ed25519 has no other
	}
	return k
}

func derive(secret []byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(vault.Derive(secret, "fleetboard log seal ed25519 v1", ed25519.SeedSize))
}

// signature is who signed something, and how.
type signature struct{ signer, bytes []byte }

func (k *Keys) sign(digest []byte) signature {
	return signature{signer: k.trusted[0], bytes: ed25519.Sign(k.private, digest)}
}

// trusts reports whether digest was signed under one of the server's keys or, where
// others were trusted before, under one of those.
func (k *Keys) trusts(digest []byte, s signature, others ...[]byte) bool {
	known := func(key ed25519.PublicKey) bool { return bytes.Equal(key, s.signer) }
	if !slices.ContainsFunc(k.trusted, known) && !slices.ContainsFunc(others, func(o []byte) bool { return known(o) }) {
		return false
	}
	return ed25519.Verify(s.signer, digest, s.bytes)
}
