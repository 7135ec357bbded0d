package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of a message.
const (
	// MaxPayload is how many bytes of JSON a message carries itself; what is larger becomes a blob.
	MaxPayload = 4096
	// MaxBatch is how many messages one call sends.
	MaxBatch = 500
	// MaxThread bounds the name of a thread, in characters.
	MaxThread = 128
	// MaxDeliveries is how often a message is handed out before it is a dead letter.
	MaxDeliveries = 5
	// MaxInbox is how many messages an inbox holds of all senders but the server, and how many
	// of the server beside them; MaxFromOne is the share of one sender.
	MaxInbox   = 10_000
	MaxFromOne = MaxInbox / 5
	// seqBits is how many bits of a position number the messages of one transaction.
	seqBits = 10
)

// Draft is a message to send. To has the name of its addressee; of a person that is the
// e-mail address or the id.
type Draft struct {
	ID            ids.ID // Nil takes a new one; the same id again is the same message
	Type          string
	To            Address
	CorrelationID string // names the thread; "" takes that of the message answered, or the job's key
	InReplyTo     ids.ID
	Job           string // key or id
	Payload       json.RawMessage
	Blob          string // SHA-256 of a payload that is a blob, as hexadecimal digits
	ExpiresAt     *time.Time

	originalDigest string // the digest from before its payload became a blob
}

// Message is a message that was sent.
type Message struct {
	Seq           int64           `json:"seq"`
	ID            ids.ID          `json:"id"`
	Type          string          `json:"type"`
	From          Address         `json:"-"`
	To            Address         `json:"-"`
	CorrelationID string          `json:"correlation_id"`
	InReplyTo     ids.ID          `json:"-"`
	JobID         ids.ID          `json:"-"`
	JobKey        string          `json:"job"`
	Payload       json.RawMessage `json:"payload"`
	Blob          string          `json:"blob"`
	At            time.Time       `json:"at"`
	ExpiresAt     *time.Time      `json:"expires_at"`
	// Deliveries is how often it was handed out, in an inbox.
	Deliveries int `json:"deliveries,omitempty"`

	subject subject
}

// check returns what is wrong with a message, by field.
func (n Draft) check() error {
	p := fault.Problems{}
	if n.To.Kind == ToRole && !tenancy.IsAgentRole(n.To.Name) {
		p.Add("to.role", "It must be worker, orchestrator, reviewer or custom:<name>.")
	}
	if len(n.Payload) > 0 && n.Blob != "" {
		p.Add("blob", "A message has a payload or a blob.")
	}
	if n.Blob != "" && !isSHA256(n.Blob) {
		p.Add("blob", "It must be a SHA-256 as 64 hexadecimal digits.")
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(time.Now()) {
		p.Add("expires_at", "It must lie in the future.")
	}
	return p.Err()
}

func isSHA256(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size
}

// digest distinguishes a repeat of the message from another one with its id.
func (n Draft) digest() string {
	if n.originalDigest != "" {
		return n.originalDigest
	}
	fields, err := json.Marshal([]any{n.Type, n.To.Kind, n.To.Name, n.CorrelationID, n.InReplyTo, n.Job, n.Payload, n.Blob, n.ExpiresAt})
	if err != nil {
		fields = nil // Payload was checked to be JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(fields))
}
