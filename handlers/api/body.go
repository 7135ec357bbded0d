package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/internal/tenancy/quota"
)

// Limits of bodies, in bytes.
const (
	// MaxBody bounds the body of a call, MaxLogBody that of log lines and batches.
	MaxBody    = 256 << 10
	MaxLogBody = 5 << 20
	// smallBody is what is read of each body without a share of the budget: most
	// are no longer.
	smallBody = 4 << 10
	// bodyBudget is the memory of all calls with larger bodies, tokenBudget that of one
	// agent's or of one person's token, enrolmentBudget that of all agents of an
	// enrolment token.
	bodyBudget      = 192 << 20
	enrolmentBudget = bodyBudget / 2
	tokenBudget     = bodyBudget / 4
	// bodyPatience is how long a call waits for its share.
	bodyPatience = 2 * time.Second
	// copies is how often a body is in memory at once while it is read, and again
	// while its call is carried out; beside them a value takes bytesOfValue once it
	// is parsed, and what a byte of a body stands for bytesOfByte, at most.
	copies       = 6
	bytesOfValue = 180
	bytesOfByte  = 45
)

// bodyLimit is how many bytes the body of a call may have.
func (op operation) bodyLimit() int64 {
	if op.holdsLogs() {
		return MaxLogBody
	}
	return MaxBody
}

func (op operation) holdsLogs() bool { return op.id == "writeLogs" || op.id == "reportBatch" }

// readBody reads, checks and canonicalizes the body. nil where none was sent
// and none is needed. The share is of the memory that the body takes.
func (s *Server) readBody(c echo.Context, op operation, who *tenancy.Principal) (_ []byte, share *quota.Share, err error) {
	defer func() {
		if err != nil {
			share.End()
		}
	}()
	raw, share, err := s.receive(c, op, who)
	switch {
	case err != nil:
		return nil, share, err
	case len(raw) == 0 && !op.bodyRequired:
		return nil, share, nil
	case len(raw) == 0:
		return nil, share, fault.New(fault.Malformed, "A JSON object is needed as the body.")
	}
	if err := isJSON(c.Request().Header); err != nil {
		return nil, share, err
	}
	schema := op.body
	if schema == nil {
		schema = nothing
	}
	if share != nil {
		// Half of the processors are left to the calls with small bodies.
		if err := s.decoding.Acquire(c.Request().Context(), 1); err != nil {
			return nil, share, err
		}
		defer s.decoding.Release(1)
	}
	body, err := decode(raw, schema)
	if err == nil && op.id != "reportBatch" { // the batch parses each of its reports once more
		share.Shrink(kept(len(body)))
	}
	return body, share, err
}

// receive reads the body. Of one that is not small the first bytes are read, then its
// share of memory is taken, then the rest is read.
func (s *Server) receive(c echo.Context, op operation, who *tenancy.Principal) ([]byte, *quota.Share, error) {
	r, limit := c.Request(), op.bodyLimit()
	if r.ContentLength > limit {
		return nil, nil, tooLarge(limit)
	}
	body := http.MaxBytesReader(c.Response(), r.Body, limit)
	begin := make([]byte, smallBody)
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
	share, err := s.memory.Take(r.Context(), parsed(length), askersOf(who)...)
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

// askersOf are those whom the body counts for.
func askersOf(who *tenancy.Principal) []quota.Asker {
	mine := quota.Asker{ID: who.Token, Most: tokenBudget, What: "token"}
	if who.Kind != tenancy.KindAgent {
		return []quota.Asker{mine}
	}
	mine.ID = who.Agent
	return []quota.Asker{mine, {ID: who.Token, Most: enrolmentBudget, What: "enrolment token"}}
}

// parsed is the memory that a body takes at most while it is read.
func parsed(length int64) int64 {
	return copies*length + min(bytesOfByte*length, bytesOfValue*MaxValues)
}

// kept is the memory that a body takes at most while its call is carried out.
func kept(length int) int64 {
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
