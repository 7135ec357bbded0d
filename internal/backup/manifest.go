package backup

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
)

const (
	// format is the version of everything that is written here.
	format       = 1
	manifestName = "manifest.json"
	// idForm begins the name of a backup, so that names sort by time.
	idForm = "20060102T150405Z"
)

// Kind is what a backup is made of.
type Kind string

const (
	// Cluster is a copy of PostgreSQL's files.
	Cluster Kind = "cluster"
	// Dump is what pg_dump writes.
	Dump Kind = "dump"
)

// Manifest says what a backup has.
type Manifest struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`
	// Product is the version of the program that made it, Schema that of its database.
	Product string `json:"product"`
	Schema  int64  `json:"schema"`
	// PostgreSQL is the version of the database server; its major version is needed to restore a cluster.
	PostgreSQL string `json:"postgresql"`
	Major      int    `json:"major"`
	// Owner is the login that owns the database of a dump: its policies name it.
	Owner string `json:"owner,omitempty"`
	Copy  *Copy  `json:"copy,omitempty"` // of a cluster
	// Begun and Ended are by the clock of the machine that made it.
	Begun time.Time `json:"begun"`
	Ended time.Time `json:"ended"`
	// Logs is how far the log of each workspace went when the backup began: it has at least that.
	Logs []seal.End `json:"logs"`
	// Bucket is where blobs are that are not in the database, "" where there are none.
	Bucket string `json:"bucket,omitempty"`
	// Key is the server's secret key under a passphrase; nil where it was left out.
	Key   *SealedKey `json:"key,omitempty"`
	Parts []Part     `json:"parts"`
}

// Copy is what the copy of a cluster says of itself.
type Copy struct {
	System      string `json:"system"`
	Timeline    uint32 `json:"timeline"`
	SegmentSize int64  `json:"segment_size"` // of the write-ahead log, in bytes
	// Start and End are the places in the write-ahead log between which it was made.
	Start string `json:"start"`
	End   string `json:"end"`
	// Chain is the archived log that goes on from here, "" where there is none.
	Chain string `json:"chain,omitempty"`
}

// Part is a file of a backup.
type Part struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hexadecimal
}

// Size returns how many bytes all parts have.
func (m Manifest) Size() (bytes int64) {
	for _, p := range m.Parts {
		bytes += p.Size
	}
	return bytes
}

// newID names a backup that begins now.
func newID(now time.Time) string {
	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails
	return now.UTC().Format(idForm) + "-" + hex.EncodeToString(random[:])
}

// signature is the last line of a signed file.
type signature struct {
	Signer    []byte `json:"signer"`
	Signature []byte `json:"signature"`
}

// signingKey derives the key under which backups are signed.
func signingKey(secret []byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(vault.Derive(secret, "fleetboard backup ed25519 v1", ed25519.SeedSize))
}

// sign returns value as JSON with a line that signs it.
func sign(secret []byte, value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	text = append(text, '\n')
	key := signingKey(secret)
	sum := sha256.Sum256(text)
	last, err := json.Marshal(signature{key.Public().(ed25519.PublicKey), ed25519.Sign(key, sum[:])}) // ed25519 has no other
	return append(append(text, last...), '\n'), err
}

// unsign reads what sign wrote, and returns whose key signed it.
func unsign(name string, text []byte, value any) (signer []byte, err error) {
	body := bytes.TrimSuffix(text, []byte("\n"))
	cut := bytes.LastIndexByte(body, '\n') + 1
	var s signature
	if err := json.Unmarshal(body[cut:], &s); err != nil || len(s.Signer) != ed25519.PublicKeySize {
		return nil, damaged(name)
	}
	exact, err := json.Marshal(s)
	sum := sha256.Sum256(text[:cut])
	if err != nil || !bytes.Equal(text[cut:], append(exact, '\n')) || !ed25519.Verify(s.Signer, sum[:], s.Signature) {
		return nil, damaged(name)
	}
	if err := json.Unmarshal(text[:cut], value); err != nil {
		return nil, damaged(name)
	}
	return s.Signer, nil
}

// signedBy reports whether one of the keys made a signature.
func signedBy(signer []byte, keys [][]byte) bool {
	return slices.ContainsFunc(keys, func(secret []byte) bool {
		return bytes.Equal(signingKey(secret).Public().(ed25519.PublicKey), signer)
	})
}
