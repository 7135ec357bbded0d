package tokens

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Service makes, checks and ends access tokens and the tokens of agents. It is
// safe for concurrent use.
type Service struct {
	db         *db.DB
	wake       Notifier
	workspaces *workspaces.Service
	signing    ed25519.PrivateKey
	revoked    *revocations
	signed     *lru.Cache[[sha256.Size]byte, *tenancy.Principal] // by the hash of an agent's token
	tools      *lru.Cache[ids.ID, toolUse]                       // by the token that called
	now        func() time.Time
}

// New returns the service. It signs the tokens of agents with the key.
func New(d *db.DB, wake Notifier, list *workspaces.Service, signing ed25519.PrivateKey, now func() time.Time) *Service {
	signed, err := lru.New[[sha256.Size]byte, *tenancy.Principal](signedKept)
	if err != nil {
		panic(fmt.Sprintf("tokens: %v", err)) // only a size below one is refused
	}
	used, err := lru.New[ids.ID, toolUse](toolsKept)
	if err != nil {
		panic(fmt.Sprintf("tokens: %v", err))
	}
	s := &Service{db: d, wake: wake, workspaces: list, signing: signing, revoked: newRevocations(), signed: signed, tools: used, now: now}
	if wake != nil {
		wake.Subscribe(RevokedTopics, s.revoked.invalidate)
	}
	return s
}
