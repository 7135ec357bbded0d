package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxProblem bounds what is read of a refusal, in bytes.
const maxProblem = 1 << 20

// Error is a call that the server refused. Its Code never changes its meaning; Fields name what is
// wrong in the request. Without a Code it is the answer of something else, such as a proxy.
type Error struct {
	Problem
	// Body is the whole answer, which has further members: a conflict brings the job as it is.
	Body []byte
}

// Error says what is wrong, and which fields are.
func (p *Error) Error() string {
	said := p.Title
	if p.Detail != "" {
		said = p.Detail
	}
	if p.Fields == nil {
		return said
	}
	var fields []string
	for name, what := range *p.Fields {
		fields = append(fields, fmt.Sprintf("%s %s", name, what))
	}
	slices.Sort(fields)
	return said + " (" + strings.Join(fields, "; ") + ")"
}

// Refused reports whether err is a server's refusal with one of the codes.
func Refused(err error, codes ...ProblemCode) bool {
	refusal, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, refusal.Code)
}

// TokenEnded reports whether a call was refused for its token, which registering again replaces.
func TokenEnded(err error) bool {
	return Refused(err, ProblemCodeTokenExpired, ProblemCodeTokenInvalid, ProblemCodeUnauthenticated)
}

// AgentEnded reports whether a refusal says that the agent can never claim again.
func AgentEnded(err error) bool {
	return Refused(err, ProblemCodeSuperseded, ProblemCodeTokenRevoked, ProblemCodeForbidden, ProblemCodeClientTooOld,
		ProblemCodeFactoryElsewhere)
}

// Decided reports whether the server has said what became of a call, by carrying it out (err is
// nil) or by a refusal that stays: sending the call again would bring the same answer.
func Decided(err error) bool {
	if err == nil {
		return true
	}
	refusal, ok := errors.AsType[*Error](err)
	return ok && refusal.Status < http.StatusInternalServerError && refusal.Status != http.StatusTooManyRequests &&
		refusal.Status != http.StatusUnauthorized && refusal.Status != http.StatusRequestTimeout
}

// readProblem reads a refusal. One that is not of the API, as of a proxy, has its status.
func readProblem(answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	if err != nil {
		return fmt.Errorf("the answer %d broke off: %w", answer.StatusCode, err)
	}
	p := &Error{Body: body}
	if json.Unmarshal(body, &p.Problem) != nil || p.Code == "" {
		p.Problem = Problem{Status: answer.StatusCode, Title: "The server answered " + answer.Status + "."}
	}
	return p
}

// Unreachable is a call that got no answer of the server: nobody knows whether it was carried out.
type Unreachable struct { //nolint:errname // beside Error it reads as what it is
	Server string
	cause  error
}

// Error names the server and what happened.
func (u *Unreachable) Error() string {
	cause := u.cause
	if at, ok := errors.AsType[*url.Error](cause); ok { // it repeats the address
		cause = at.Err
	}
	return fmt.Sprintf("%s gave no answer: %v", u.Server, cause)
}

// Unwrap returns what happened.
func (u *Unreachable) Unwrap() error { return u.cause }
