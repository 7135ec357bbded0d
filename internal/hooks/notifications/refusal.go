package notifications

import (
	"errors"
	"time"
)

// again returns when a message is tried again; nil for never.
func again(now time.Time, tries int, err error) *time.Time {
	var r *refusal
	if tries >= maxTries || errors.As(err, &r) && r.final {
		return nil
	}
	at := now.Add(min(30*time.Second<<(2*max(tries-1, 0)), 6*time.Hour))
	return &at
}

// refusal is why a message was not taken, in words that a person may read.
type refusal struct {
	text  string
	final bool // it will not be taken later either
	cause error
}

func (r *refusal) Error() string {
	if r.cause != nil {
		return r.text + ": " + r.cause.Error()
	}
	return r.text
}

func (r *refusal) Unwrap() error { return r.cause }

// explain returns the words for a person, without addresses and internals.
func explain(err error) string {
	var r *refusal
	if errors.As(err, &r) {
		return r.text
	}
	return "It could not be sent."
}
