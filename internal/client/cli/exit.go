package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// The exit codes are stable: scripts rely on them.
const (
	exitOK = iota
	exitFailure
	exitUsage
	exitRefused
	exitNotFound
	exitNotAllowed
	exitUnreachable
	exitNothing
	exitTimeout
	exitInterrupted = 130
)

// exitCodes is what `fleet help exit-codes` prints.
var exitCodes = []struct {
	code int
	what string
}{
	{exitOK, "It is done."},
	{exitFailure, "It failed, for another reason than those below; or what was watched or checked did not end well."},
	{exitUsage, "The command or what it was given is wrong: an unknown flag, a value that the server does not take."},
	{exitRefused, "The server refused, as things are: a conflict, a transition that the job does not allow, a budget that is used up."},
	{exitNotFound, "There is no such job, product, agent, factory, budget or context."},
	{exitNotAllowed, "The token is missing, unknown or over, or may not do this."},
	{exitUnreachable, "The server gave no answer, or asks to come back later. The same command may work in a while."},
	{exitNothing, "There is nothing to claim."},
	{exitTimeout, "What was watched has not come to its end within --timeout."},
	{exitInterrupted, "It was interrupted."},
}

// failure is an error with the code that the process ends with.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail returns an error with a code. The text is a sentence for people.
func fail(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	if own, ok := errors.AsType[*failure](err); ok {
		return own.code
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	if _, ok := errors.AsType[*api.Unreachable](err); ok {
		return exitUnreachable
	}
	if p, ok := errors.AsType[*api.Error](err); ok {
		return codeOfProblem(p)
	}
	return exitFailure
}

func codeOfProblem(p *api.Error) int {
	switch p.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return exitUsage
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitNotAllowed
	case http.StatusNotFound:
		if p.Code == api.ProblemCodeNotFound {
			return exitNotFound
		}
	case http.StatusConflict:
		return exitRefused
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exitUnreachable
	}
	return exitFailure
}

// exitCodesTopic is shown by `fleet help exit-codes`.
func exitCodesTopic() *cobra.Command {
	text := "A command of fleet ends with one of these codes; they stay the same in all versions.\n"
	for _, e := range exitCodes {
		text += fmt.Sprintf("\n  %3d  %s", e.code, e.what)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: text}
}
