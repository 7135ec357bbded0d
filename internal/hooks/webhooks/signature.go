package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/outbound"
	"github.com/fleetboard/fleetboard/internal/redact"
)

const (
	// SecretPrefix begins the text of a secret; base64 follows.
	SecretPrefix = "whsec_"
	// The lengths of a secret, in bytes.
	minSecret, newSecret, maxSecret = 24, 32, 64
)

// Secret is what deliveries are signed with. However it is printed, logged or encoded, it reads
// "[secret]"; only Reveal returns it.
type Secret struct {
	// A function, so that not even reflection shows the bytes.
	bytes func() []byte
}

func wrapSecret(raw []byte) Secret { return Secret{func() []byte { return raw }} }

func makeSecret() Secret {
	raw := make([]byte, newSecret)
	_, _ = rand.Read(raw) // never fails
	return wrapSecret(raw)
}

// parseSecret reads the text of a secret.
func parseSecret(text string) (Secret, bool) {
	encoded, _ := strings.CutPrefix(text, SecretPrefix)
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	s := wrapSecret(raw)
	return s, err == nil && len(raw) >= minSecret && len(raw) <= maxSecret && s.Reveal() == text
}

// Reveal returns the secret's text, "" of the zero Secret.
func (s Secret) Reveal() string {
	if s.bytes == nil {
		return ""
	}
	return SecretPrefix + base64.StdEncoding.EncodeToString(s.bytes())
}

// Format writes the placeholder, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redact.Placeholder) }

// LogValue returns the placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redact.Placeholder) }

// MarshalJSON returns the placeholder.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(redact.PlaceholderJSON), nil }

// sign sets the headers of a message: its id, the time, and a signature by each secret.
func sign(h http.Header, id string, at time.Time, body []byte, secrets ...Secret) {
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		keys[i] = secret.bytes()
	}
	outbound.Sign(h, id, at, body, keys...)
}
