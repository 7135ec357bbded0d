package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/internal/tenancy/quota"
)

// Limits of blobs under way. transferMemory is what each may take of memory; the budgets
// are those of one process, of a workspace, of an enrolment token's agents and of one
// agent's or person's token.
const (
	transferMemory          = 8 << 20
	transferBudget          = 32 * transferMemory
	transferWorkspaceBudget = 24 * transferMemory
	transferEnrolmentBudget = 16 * transferMemory
	transferTokenBudget     = 8 * transferMemory
)

// transferring is how long the other side may take for one piece, and for all.
var transferring = struct{ piece, all time.Duration }{30 * time.Second, 20 * time.Minute}

// transfer is a call that carries bytes as they come. Its connection has as much time as
// it goes on.
type transfer struct {
	request *http.Request
	control *http.ResponseController
	ends    time.Time
}

// admitTransfer is admit for a call that carries bytes: nothing of the body is read yet.
func (s *Server) admitTransfer(c echo.Context, op operation, who *tenancy.Principal, refused error) (*quota.Share, error) {
	if refused != nil {
		return nil, refused
	}
	r := c.Request()
	if coding := r.Header.Get("Content-Encoding"); r.Method == http.MethodPut && coding != "" && coding != "identity" {
		return nil, fault.New(fault.UnsupportedMedia, "Send the content without a Content-Encoding: it is stored as it comes.")
	}
	share, err := s.carrying.Take(r.Context(), transferMemory, transferAskers(who)...)
	if err != nil {
		return nil, err
	}
	t := &transfer{request: r, control: http.NewResponseController(c.Response()), ends: time.Now().Add(transferring.all)}
	ctx := context.WithValue(r.Context(), callKey{}, call{op: op, who: who, token: bearerOf(r),
		requestID: c.Response().Header().Get(echo.HeaderXRequestID), transfer: t})
	c.SetRequest(r.WithContext(ctx))
	return share, nil
}

// transferAskers are those whom a transfer counts for.
func transferAskers(who *tenancy.Principal) []quota.Asker {
	mine := quota.Asker{ID: who.Token, Most: transferTokenBudget, What: "token"}
	workspace := quota.Asker{ID: who.Workspace, Most: transferWorkspaceBudget, What: "workspace"}
	if who.Kind != tenancy.KindAgent {
		return []quota.Asker{mine, workspace}
	}
	mine.ID = who.Agent
	return []quota.Asker{mine, {ID: who.Token, Most: transferEnrolmentBudget, What: "enrolment token"}, workspace}
}

// deadline is until when the next piece must be through.
func (t *transfer) deadline() time.Time {
	if next := time.Now().Add(transferring.piece); next.Before(t.ends) {
		return next
	}
	return t.ends
}

// body reads the request's body as long as it goes on; its errors are refusals.
func (t *transfer) body(from io.Reader) io.Reader { return pacedBody{t, from} }

type pacedBody struct {
	*transfer
	from io.Reader
}

// Read allows time for the next bytes, and for the answer after them. Where the
// connection cannot be given more, the server's own limits hold.
func (b pacedBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(b.deadline())
	_ = b.control.SetWriteDeadline(b.deadline().Add(writeTime))
	n, err := b.from.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, fault.Wrap(err, fault.Malformed, "The body stood still for %s, or took longer than %s.", transferring.piece, transferring.all)
	}
	return n, fault.Wrap(err, fault.Malformed, "The body ended before it was complete.")
}

// answer writes the answer as long as its reader takes it.
func (t *transfer) answer(to http.ResponseWriter) http.ResponseWriter { return pacedAnswer{to, t} }

type pacedAnswer struct {
	http.ResponseWriter
	*transfer
}

// Write allows time for the next bytes.
func (a pacedAnswer) Write(p []byte) (int, error) {
	_ = a.control.SetWriteDeadline(a.deadline())
	return a.ResponseWriter.Write(p)
}
