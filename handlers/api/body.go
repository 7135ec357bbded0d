package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/api/schema"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Limits of bodies, in bytes.
const (
	// MaxBody bounds the body of a call, MaxLogBody that of log lines and batches.
	MaxBody    = 256 << 10
	MaxLogBody = 5 << 20
	// smallBody is what is read of each body without a share of the budget: most
	// are no longer.
	smallBody = 4 << 10
	// bodyBudget is the memory of all calls with larger bodies.
	bodyBudget = 192 << 20
	// bodyPatience is how long a call waits for its share.
	bodyPatience = 2 * time.Second
	// copies is how often a body is in memory at once while its call is carried out.
	copies = 6
)

// bodyLimit returns how many bytes the body of a call may have.
func (op operation) bodyLimit() int64 {
	if op.holdsLogs() {
		return MaxLogBody
	}
	return MaxBody
}

func (op operation) holdsLogs() bool {
	return op.id == "writeLogs" || op.id == "writeSteps" || op.id == "reportBatch"
}

// readBody reads, checks and canonicalizes the body. nil where none was sent
// and none is needed. It takes the call's turn once all is here, so that nobody's slow
// connection holds one. What is held is the caller's to end, also where it is refused.
func (s *Server) readBody(c echo.Context, op operation, who *tenancy.Principal) (_ []byte, h held, err error) {
	raw, share, err := s.receive(c, op, who)
	if h.share = share; err != nil {
		return nil, h, err
	}
	if h.turn, err = s.turn(c.Request().Context(), op, who, len(raw)); err != nil {
		return nil, h, err
	}
	switch {
	case len(raw) == 0 && !op.bodyRequired:
		return nil, h, nil
	case len(raw) == 0:
		return nil, h, fault.New(fault.Malformed, "A JSON object is needed as the body.")
	}
	if err := isJSON(c.Request().Header); err != nil {
		return nil, h, err
	}
	wanted := op.body
	if wanted == nil {
		wanted = nothing
	}
	if h.share != nil && op.cheap && len(raw) <= cheapBody {
		// Half of the processors are left to the calls with small bodies.
		if err := s.decoding.Acquire(c.Request().Context(), 1); err != nil {
			return nil, h, err
		}
		defer s.decoding.Release(1)
	}
	body, err := schema.Decode(raw, wanted)
	if err == nil && op.id != "reportBatch" { // the batch reads each of its reports once more
		h.share.Shrink(peakMemory(len(body)))
	}
	return body, h, err
}

// receive reads the body. Of one that is not small the first bytes are read, then its
// share of memory is taken, then the rest is read.
func (s *Server) receive(c echo.Context, op operation, who *tenancy.Principal) ([]byte, *quota.Share, error) {
	r, limit := c.Request(), op.bodyLimit()
	if r.ContentLength > limit {
		return nil, nil, tooLarge(limit)
	}
	body := http.MaxBytesReader(c.Response(), r.Body, limit)
	size := int64(smallBody)
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength+1)
	}
	begin := make([]byte, size)
	n, err := io.ReadFull(body, begin)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && (r.ContentLength < 0 || int64(n) == r.ContentLength) {
		return begin[:n], nil, nil
	}
	if err != nil {
		return nil, nil, unreadable(err, limit)
	}
	length := limit
	if r.ContentLength >= 0 {
		length = r.ContentLength
	}
	share, err := s.memory.Take(r.Context(), parsed(length), quota.Askers(*who, bodyShares)...)
	if err != nil {
		return nil, nil, err
	}
	all := bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead))
	all.Write(begin)
	if _, err := all.ReadFrom(body); err != nil {
		return nil, share, unreadable(err, limit)
	}
	return all.Bytes(), share, nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "A body of this call has at most %d KB.", limit>>10)
}

func unreadable(err error, limit int64) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return tooLarge(limit)
	}
	return fault.Wrap(err, fault.Malformed, "The body ended before it was complete.")
}

// bodyShares are how much of bodyBudget each may hold.
var bodyShares = quota.Shares{Asker: bodyBudget / 4, Enrolment: bodyBudget / 2, Workspace: bodyBudget * 3 / 4}

// parsed returns the memory that a body takes at most while it is read.
func parsed(length int64) int64 { return length + schema.Memory(length) }

// peakMemory returns the memory that a body takes at most while its call is carried out.
func peakMemory(length int) int64 {
	if length <= smallBody {
		return 0
	}
	return copies * int64(length)
}

// nothing is the schema of a body where a call takes none: an empty object may
// come all the same.
var nothing = openapi3.NewObjectSchema().WithoutAdditionalProperties()

func isJSON(h http.Header) error {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return fault.New(fault.UnsupportedMedia, "Send the body as Content-Type: application/json, in UTF-8.")
	}
	if coding := h.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return fault.New(fault.UnsupportedMedia, "Send the body without a Content-Encoding.")
	}
	return nil
}

// Limits of blobs under way. transferMemory is what each may take of memory, transferBudget
// what all of one process may, transferShares how much of it each may hold.
const (
	transferMemory      = 8 << 20
	transferBudget      = 32 * transferMemory
	transferAskerBudget = 8 * transferMemory
)

var transferShares = quota.Shares{Asker: transferAskerBudget, Enrolment: 16 * transferMemory, Workspace: 24 * transferMemory}

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
	share, err := s.carrying.Take(r.Context(), transferMemory, quota.Askers(*who, transferShares)...)
	if err != nil {
		return nil, err
	}
	t := &transfer{request: r, control: http.NewResponseController(c.Response()), ends: time.Now().Add(transferring.all)}
	ctx := context.WithValue(r.Context(), callKey{}, call{op: op, who: who, token: bearerToken(r),
		requestID: c.Response().Header().Get(echo.HeaderXRequestID), transfer: t})
	c.SetRequest(r.WithContext(ctx))
	return share, nil
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
		return n, fault.Wrap(err, fault.Malformed, "The body stood still for %s, or took longer than %s.",
			transferring.piece, transferring.all)
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
