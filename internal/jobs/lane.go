package jobs

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// Needs is what a job asks of whoever claims it.
type Needs struct {
	Capabilities []string
	Repo         string
	Factory      string
}

// Tokens are the needs as one sorted set: capabilities, and the repo as
// "repo:<name>". The named factory is not among them.
func (n Needs) Tokens() []string {
	tokens := slices.Clone(n.Capabilities)
	if n.Repo != "" {
		tokens = append(tokens, "repo:"+n.Repo)
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// digest identifies the lane of these needs: equal sets have equal digests.
func (n Needs) digest() []byte {
	sum := sha256.Sum256([]byte(n.Factory + "\n" + strings.Join(n.Tokens(), "\n")))
	return sum[:]
}

// Needs of the job.
func (j Job) Needs() Needs {
	return Needs{Capabilities: j.Capabilities, Repo: j.Repo, Factory: j.Factory}
}
