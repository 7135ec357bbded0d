package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Limits of messages, in bytes. The API has its own for what a tool takes, which is most of a
// message.
const (
	// maxMessage bounds a message: a body of the API, and what the protocol has around it.
	maxMessage = 264 << 10
	// smallMessage is read without a share of memory.
	smallMessage = 4 << 10
	bodyBudget   = 96 << 20
	bodyPatience = 2 * time.Second
	// copies is how often a message is in memory at once.
	copies = 6
)

// bodyShares are how much of bodyBudget each may hold.
var bodyShares = quota.Shares{Asker: bodyBudget / 4, Enrolment: bodyBudget / 2, Workspace: bodyBudget * 3 / 4}

// together is how many messages of one caller are carried out at once, those that wait for a job
// with them.
var together = quota.Shares{Asker: 16, Enrolment: 2000, Workspace: 4000}

// readBody reads the message, once the caller has memory for it, which is the caller's of readBody
// to end.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, who tenancy.Principal) (*quota.Share, error) {
	size := r.ContentLength
	switch {
	case size > maxMessage:
		return nil, tooLarge(nil)
	case size < 0:
		size = maxMessage
	}
	var share *quota.Share
	if size > smallMessage {
		var err error
		if share, err = s.memory.Take(r.Context(), copies*size, quota.Askers(who, bodyShares)...); err != nil {
			return nil, err
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err == nil && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		err = fault.New(fault.Malformed, "Send one message in each request.")
	}
	var over *http.MaxBytesError
	var known *fault.Error
	switch {
	case errors.As(err, &over):
		err = tooLarge(err)
	case err != nil && !errors.As(err, &known):
		err = fault.Wrap(err, fault.Malformed, "The body ended before it was complete.")
	}
	if err != nil {
		share.End()
		return nil, err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return share, nil
}

func tooLarge(cause error) error {
	return fault.Wrap(cause, fault.TooLarge, "A message has at most %d KB.", maxMessage>>10)
}
