package outbound

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sign sets the headers that Standard Webhooks 1.0 has for a message: its id, the time in seconds, and
// a signature by each secret, the newest first.
func Sign(h http.Header, id string, at time.Time, body []byte, secrets ...[]byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, seconds, body) // a hash takes everything
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", seconds)
	h.Set("webhook-signature", strings.Join(signatures, " "))
}
