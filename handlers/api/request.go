package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/api/schema"
	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// writeTime is how long an answer may take: the longest claim and some.
const writeTime = 75 * time.Second

// call is what the guard learned of a request; it travels in the request's
// context, where only this package finds it.
type call struct {
	op    operation
	who   *tenancy.Principal
	body  []byte // canonical; nil where none was sent
	token string // as it was sent; streams check again what it allows
	// once names the request, so that it may be sent again; nil where it has no name.
	once *idempotency.Key
	// requestID is the one that the answer's header says.
	requestID string
	csv       bool // the answer is wanted as CSV
	// transfer is what carries the bytes of a blob; nil where none are.
	transfer *transfer
	stream   bool // the answer is wanted as server-sent events
}

type callKey struct{}

// callFrom returns what the guard learned of the request.
func callFrom(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

// principal returns the caller.
func principal(ctx context.Context) tenancy.Principal { return *callFrom(ctx).who }

// guard stands before one operation: it lets nobody through without the
// permission, and no parameter or body that the description does not allow.
func (s *Server) guard(op operation) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			tracing.Route(c.Request().Context(), c.Request(), c.Path())
			held, err := s.admit(c, op)
			if err != nil {
				return err
			}
			defer held.End()
			// Nobody's slow reading of an answer holds a turn.
			c.Response().Before(held.turn.End)
			return next(c)
		}
	}
}

// held is what a call holds until it is answered: memory for its body, and its turn.
type held struct {
	share *quota.Share
	turn  *quota.Turn
}

// End gives it back.
func (h held) End() {
	h.share.End()
	h.turn.End()
}

// admit does the guard's part before the call is carried out. What it holds is the caller's
// to end.
func (s *Server) admit(c echo.Context, op operation) (held, error) {
	// Where the connection cannot be given more time, the server's own limit holds.
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(writeTime))
	who, err := s.authorize(c, op)
	if err != nil {
		return held{}, err
	}
	s.Turns.See(*who)
	refused := schema.Parameters(op.params, c.Request(), c.Param)
	if fault.Is(refused, fault.NotFound) {
		return held{}, refused
	}
	if op.transfers {
		share, err := s.admitTransfer(c, op, who, refused)
		return held{share: share}, err
	}
	body, held, err := s.readBody(c, op, who)
	if err := joinRefusals(refused, err); err != nil {
		held.End()
		return held, err
	}
	ctx := context.WithValue(c.Request().Context(), callKey{}, call{op: op, who: who, body: body, token: bearerToken(c.Request()),
		once:      s.once(c, op, body),
		requestID: c.Response().Header().Get(echo.HeaderXRequestID),
		csv:       accepts(c, "text/csv"), stream: accepts(c, "text/event-stream")})
	c.SetRequest(c.Request().WithContext(ctx))
	return held, nil
}

// accepts reports whether the request names a type of answer.
func accepts(c echo.Context, name string) bool {
	return strings.Contains(c.Request().Header.Get(echo.HeaderAccept), name)
}

// joinRefusals returns a refusal of the parameters and one of the body as one, so that all that
// is wrong with a call is reported at once.
func joinRefusals(params, body error) error {
	var one, other *fault.Error
	if !errors.As(params, &one) || !errors.As(body, &other) || len(other.Fields) == 0 {
		return cmp.Or(params, body)
	}
	all := *one
	if other.Code == fault.Malformed {
		all = *other
	}
	all.Fields = maps.Clone(other.Fields)
	maps.Copy(all.Fields, one.Fields)
	return &all
}

// authorize returns the caller, and refuses whoever lacks the permission or calls too
// often. Only the Authorization header counts; cookies are never looked at.
func (s *Server) authorize(c echo.Context, op operation) (*tenancy.Principal, error) {
	if op.need == tenancy.Public {
		return &tenancy.Principal{}, s.Quota.Address(c.RealIP())
	}
	admitted, known := c.Request().Context().Value(admissionKey{}).(admission)
	if !known {
		admitted.who, admitted.err = s.bearer(c)
	}
	who, err := admitted.who, admitted.err
	if fault.Is(err, fault.Superseded) {
		err = replaced(op, err)
	}
	if err != nil {
		return nil, err
	}
	if !known {
		if err := s.count(c, op, who); err != nil {
			return nil, err
		}
	}
	return who, permit(who, op)
}

// permit refuses a caller without the permission of the call.
func permit(who *tenancy.Principal, op operation) error {
	if who.Can(op.need) {
		return nil
	}
	return fault.New(fault.Forbidden, "This call needs the permission %s; this token does not have it.", op.need).
		With("permission", string(op.need))
}

// replaced returns the answer to an agent's replaced boot. Its reports go on to the
// database, which alone knows what became of each lease: what this process has
// learned of the new boot must not decide the answer.
func replaced(op operation, err error) error {
	switch {
	case op.need != tenancy.WorkJobs:
		return fault.New(fault.TokenRevoked, "The agent was started again since; this token has ended.")
	case op.body != nil:
		return nil
	}
	return err
}

// bearer says whom the request's token stands for, also beside Superseded. Whoever
// guesses at tokens is held up by its address, whoever calls too often by its
// token, before the database is queried. Good tokens of the address go on.
func (s *Server) bearer(c echo.Context) (*tenancy.Principal, error) {
	address, token := c.RealIP(), bearerToken(c.Request())
	if token == "" {
		var missing error = fault.New(fault.Unauthenticated, "Send a token: Authorization: Bearer <token>.")
		return nil, cmp.Or(s.Quota.Address(address), missing)
	}
	if strings.HasPrefix(token, storedToken) {
		if err := s.Quota.Held(token); err != nil {
			return nil, err
		}
		done, err := s.Quota.Doubt(c.Request().Context(), address, token)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	who, err := s.Tokens.Bearer(c.Request().Context(), token)
	if err != nil && status.OfError(err) == http.StatusUnauthorized && !fault.Is(err, fault.TokenExpired) {
		// A token that was good once is no guess: a whole fleet may come back with those.
		return nil, cmp.Or(s.Quota.Address(address), err)
	}
	return &who, err
}

// storedToken begins the tokens that are looked up. The others, of agents, say
// by their signature that they are good, so that no neighbour's guesses can hold
// up a heartbeat.
const storedToken = "fb_"

// count takes the call from the quota of the caller.
func (s *Server) count(c echo.Context, op operation, who *tenancy.Principal) error {
	if op.id == "heartbeat" && who.Kind == tenancy.KindAgent {
		return s.Quota.Heartbeat(who.Agent)
	}
	return s.Quota.Call(*who, bearerToken(c.Request()))
}

// bearerToken returns the request's bearer token, "" where none was sent.
func bearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// checkedBinder hands a checked body to the generated code.
type checkedBinder struct{}

// Bind fills in the body's type; io.EOF where none was sent, which the
// generated code takes for an optional body left out.
func (checkedBinder) Bind(into any, c echo.Context) error {
	body := callFrom(c.Request().Context()).body
	if body == nil {
		return io.EOF
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fault.Wrap(err, fault.Malformed, "The body does not have the form of this call.")
	}
	return nil
}

const idempotencyKey = "Idempotency-Key"

// once returns the key of a request that may be sent again. It stands for the operation, what
// it is about and the body. The repetition is answered with 200 and says what it is.
func (s *Server) once(c echo.Context, op operation, body []byte) *idempotency.Key {
	name := c.Request().Header.Get(idempotencyKey)
	if !op.once || name == "" {
		return nil
	}
	asked := sha256.New()
	asked.Write([]byte(op.id + "\n"))
	for _, p := range op.params {
		if p.Value.In == openapi3.ParameterInPath {
			asked.Write([]byte(c.Param(p.Value.Name) + "\n"))
		}
	}
	asked.Write(body)
	key := s.newKey(name, asked.Sum(nil))
	c.Response().Before(func() {
		if key.Replayed() && c.Response().Status < http.StatusMultipleChoices {
			c.Response().Status = http.StatusOK
			c.Response().Header().Set("Idempotent-Replayed", "true")
		}
	})
	return key
}
