package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// maxProblem bounds what is read of a refusal, in bytes.
const maxProblem = 1 << 20

// Problem is what a server refused, and why. Code is stable.
type Problem struct { //nolint:errname // RFC 9457 calls it so
	api.Problem
	// Body is the whole answer: a conflict brings the job as it is now.
	Body []byte
}

// Error says what is wrong, with the fields that are.
func (p *Problem) Error() string {
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

// readProblem reads a refusal. One that is not of the API, as of a proxy, is told by its status.
func readProblem(answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	if err != nil {
		return fmt.Errorf("the answer %d broke off: %w", answer.StatusCode, err)
	}
	p := &Problem{Body: body}
	if json.Unmarshal(body, &p.Problem) != nil || p.Code == "" {
		p.Problem = api.Problem{Status: answer.StatusCode, Title: "The server answered " + answer.Status + "."}
	}
	return p
}

// Unreachable is a server that gave no answer.
type Unreachable struct { //nolint:errname // beside Problem it reads as what it is
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

// Unwrap is what happened.
func (u *Unreachable) Unwrap() error { return u.cause }
