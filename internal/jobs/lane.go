package jobs

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Needs is what a job requires of whoever claims it, and the product that may stop
// its claims.
type Needs struct {
	Product      ids.ID
	Capabilities []string
	Repo         string
	Factory      string
}

// Tokens returns the needs as one sorted set: capabilities, and the repo as
// "repo:<name>". The named factory is not among them.
func (n Needs) Tokens() []string {
	tokens := slices.Clone(n.Capabilities)
	if n.Repo != "" {
		tokens = append(tokens, "repo:"+n.Repo)
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// digest identifies the lane of these needs: equal sets of one product have
// equal digests. The migration 00008 computes the same.
func (n Needs) digest() []byte {
	set := sha256.Sum256([]byte(n.Factory + "\n" + strings.Join(n.Tokens(), "\n")))
	sum := sha256.Sum256(append(set[:], n.Product[:]...))
	return sum[:]
}

// Needs of the job.
func (j Job) Needs() Needs {
	return Needs{Product: j.ProductID, Capabilities: j.Capabilities, Repo: j.Repo, Factory: j.Factory}
}
