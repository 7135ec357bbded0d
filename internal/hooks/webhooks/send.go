package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/outbound"
	"github.com/fleetboard/fleetboard/internal/redact"
)

const (
	// answerTimeout is how long a receiver may take from the connection to the status of its answer.
	answerTimeout = 15 * time.Second
	// connectTimeout bounds a connection to one of its hosts.
	connectTimeout = 5 * time.Second
	// What is read and kept of an answer.
	maxAnswer     = 4 << 10
	keptAnswer    = 500
	keptError     = 300
	userAgent     = "Fleetboard-Webhooks/1"
	messagePrefix = "msg_"
)

// outcome is what a try led to.
type outcome struct {
	status int // of the answer, 0 for none
	failed string
	answer string
	took   time.Duration
}

// delivered reports whether the receiver has taken it.
func (o outcome) delivered() bool { return o.failed == "" }

// gone reports whether the receiver wants nothing any more.
func (o outcome) gone() bool { return o.status == http.StatusGone }

// MessageID returns what a receiver sees as webhook-id of a delivery.
func MessageID(delivery ids.ID) string { return messagePrefix + delivery.String() }

// send tries to deliver. The time of its signature is that of this process, as receivers expect it.
func (s *Service) send(ctx context.Context, from *sender, d due) outcome {
	began := time.Now()
	o := s.exchange(ctx, from, d)
	o.took = time.Since(began)
	var values []json.RawMessage
	for _, secret := range from.secrets {
		value, err := json.Marshal(secret.Reveal())
		if err == nil {
			values = append(values, value)
		}
	}
	redactor := redact.New(values...)
	o.answer, o.failed = redactor.Cut(o.answer, keptAnswer), redactor.Cut(o.failed, keptError)
	return o
}

func (s *Service) exchange(ctx context.Context, from *sender, d due) outcome {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, from.url, strings.NewReader(d.body))
	if err != nil {
		return outcome{failed: "The address cannot be used."}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", userAgent)
	sign(r.Header, MessageID(d.id), time.Now(), []byte(d.body), from.secrets...)
	answer, err := s.client.Do(r)
	if err != nil {
		return outcome{failed: failureText(err)}
	}
	defer func() { _ = answer.Body.Close() }()                    // what was sent has arrived
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // a part is as good
	o := outcome{status: answer.StatusCode, answer: clean(string(text))}
	switch {
	case o.status >= 200 && o.status < 300:
	case o.status >= 300 && o.status < 400:
		o.failed = fmt.Sprintf("The receiver answered %d: redirects are not followed.", o.status)
	case o.gone():
		o.failed = "The receiver answered 410: it is gone."
	default:
		o.failed = fmt.Sprintf("The receiver answered %d.", o.status)
	}
	return o
}

// failureText says why there was no answer, without the address, whose path may be a secret.
func failureText(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, outbound.ErrPrivate):
		return "The host leads to an address that is not of the public network."
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("There was no answer within %d seconds.", int(answerTimeout.Seconds()))
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return "The receiver could not be reached: " + clean(err.Error())
}

// clean returns a text that others wrote as one line of what can be shown.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, text))
}
