package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// read returns the body of an answer.
func read(answer *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fail(exitUnreachable, "the answer of the server broke off: %w", err)
	}
	return body, nil
}

// readInto is read, with what the body says.
func readInto[T any](answer *http.Response, err error) (body []byte, reply T, _ error) {
	if body, err = read(answer, err); err != nil {
		return nil, reply, err
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return nil, reply, fmt.Errorf("the answer of the server is none of its API: %w", err)
	}
	return body, reply, nil
}

// answer reads what a call was answered and prints it, for people by show.
func answer[T any](c *cli, show printer[T]) func(*http.Response, error) error {
	return func(answer *http.Response, err error) error {
		body, said, err := readInto[T](answer, err)
		if err != nil {
			return err
		}
		return c.show(body, func(w io.Writer) { show(&c.screen, w, said) })
	}
}

// callAndPrint returns a command's whole work: it calls and prints what came back.
func callAndPrint[T any](c *cli, ask func(ctx context.Context, server *api.Client, args []string) (*http.Response, error),
	show printer[T]) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		server, err := c.connect()
		if err != nil {
			return err
		}
		return answer(c, show)(ask(cmd.Context(), server, args))
	}
}

// forEach does something with each argument of a command. One that fails does not stop the
// rest; the code is that of the first that failed.
func (c *cli) forEach(args []string, do func(arg string) error) error {
	var failed []error
	for _, arg := range args {
		if err := do(arg); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	for _, err := range failed[1:] {
		c.complain(err)
	}
	return failed[0]
}

// flagValue returns a pointer to a flag's value where the flag was given.
func flagValue[T any](cmd *cobra.Command, flag string, value T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// some returns a pointer to a text that is not empty.
func some[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}

// instant reads a time: RFC 3339, a date, or a span before (or with + after) now.
func (s *screen) instant(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at.UTC(), nil
		}
	}
	rest, ahead := strings.CutPrefix(text, "+")
	if d, err := time.ParseDuration(inHours(rest)); err == nil && d >= 0 {
		if !ahead {
			d = -d
		}
		return s.env.Now().Add(d).UTC(), nil
	}
	return time.Time{}, fail(exitUsage,
		"%q is no time: it must be like 2026-11-30T09:00:00Z, 2026-11-30, or 2h and 3d for so long ago (+2h from now)", text)
}

// inHours writes days, as 3d, in hours.
func inHours(span string) string {
	days, ok := strings.CutSuffix(span, "d")
	if n, err := strconv.Atoi(days); ok && err == nil && n <= 36500 {
		return strconv.Itoa(24*n) + "h"
	}
	return span
}

// parseInstant is instant of a flag, nil where it was not given.
func (s *screen) parseInstant(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := s.instant(text)
	if err != nil {
		return nil, err
	}
	return &at, nil
}
