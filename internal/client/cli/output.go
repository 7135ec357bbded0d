package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formats are what --output takes.
const formats = "text or json"

// addOutputFlags adds the flags that say how a command prints.
func (s *screen) addOutputFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&s.json, "json", false, "print the API's own JSON")
	flags.StringVarP(&s.output, "output", "o", "", "print in this `format`: "+formats+"; json is the same as --json")
	flags.StringVar(&s.jq, "jq", "", "print what this `expression` of jq makes of the JSON; texts without quotes")
	flags.BoolVar(&s.quiet, "quiet", false, "print keys, names or ids alone, one to a line")
	flags.BoolVar(&s.noColor, "no-color", false, "print without colour, as with NO_COLOR in the environment")
}

// chooseOutput checks the flags of addOutputFlags together.
func (s *screen) chooseOutput(cmd *cobra.Command, _ []string) error {
	switch s.output {
	case "", "text":
	case "json":
		s.json = true
	case "yaml", "yml":
		return fail(exitUsage, "--output must be %s, and is %q: for YAML, pass the JSON on, as in `fleet job show FB-1 -o json | yq -P`",
			formats, s.output)
	default:
		return fail(exitUsage, "--output must be %s, and is %q", formats, s.output)
	}
	if s.quiet && (s.json || s.jq != "") {
		return fail(exitUsage, "--quiet prints keys alone, and --json or --jq the JSON: give one of them")
	}
	if s.jq == "" {
		return nil
	}
	if s.output == "text" {
		return fail(exitUsage, "--jq is of the JSON, and --output text wants none: give one of them")
	}
	parsed, err := gojq.Parse(s.jq)
	if err != nil {
		return fail(exitUsage, "--jq is no expression of jq: %w", err)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return fail(exitUsage, "--jq is no expression of jq: %w", err)
	}
	s.json, s.filter = true, func(input any) gojq.Iter { return code.RunWithContext(cmd.Context(), input) }
	return nil
}

// filtered prints what the expression of --jq makes of an answer.
func (s *screen) filtered(body []byte) error {
	numbers := json.NewDecoder(bytes.NewReader(body))
	numbers.UseNumber()
	var input any
	if err := numbers.Decode(&input); err != nil {
		return err
	}
	results := s.filter(input)
	for {
		one, ok := results.Next()
		if !ok {
			return nil
		}
		if err, failed := one.(error); failed {
			if halted, ok := errors.AsType[*gojq.HaltError](err); ok && halted.Value() == nil {
				return nil
			}
			return fail(exitUsage, "--jq does not fit what came: %w", err)
		}
		text, ok := one.(string)
		if !ok {
			raw, err := gojq.Marshal(one)
			if err != nil {
				return err
			}
			text = string(raw)
		}
		if s.env.Terminal {
			text = clean(text)
		}
		if _, err := fmt.Fprintln(s.env.Out, text); err != nil {
			return err
		}
	}
}

// named are the members of an answer that may name what it is about, the best first.
type named struct {
	Key  string          `json:"key"`
	Name string          `json:"name"`
	ID   json.RawMessage `json:"id"`
}

// printNames prints the names of what an answer is about, one to a line.
func (s *screen) printNames(body []byte) error {
	var reply struct {
		named
		Items *[]named `json:"items"`
		Jobs  *[]named `json:"jobs"`
	}
	if !json.Valid(body) {
		return nil
	}
	_ = json.Unmarshal(body, &reply) // an answer of another form names nothing
	list := []named{reply.named}
	switch {
	case reply.Items != nil:
		list = *reply.Items
	case reply.Jobs != nil:
		list = *reply.Jobs
	}
	for _, one := range list {
		name := cleanLine(cmp.Or(one.Key, one.Name, strings.Trim(string(one.ID), `"`)))
		if name == "" {
			continue
		}
		if _, err := fmt.Fprintln(s.env.Out, name); err != nil {
			return err
		}
	}
	return nil
}

// say prints for people what was done. Programs, and --quiet, do not get it.
func (s *screen) say(format string, args ...any) {
	if !s.json && !s.quiet {
		fmt.Fprintf(s.env.Out, format, args...)
	}
}

// keptWriter remembers that something could not be written, so that a command whose answer is
// lost on a full device does not end as if it were printed.
type keptWriter struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer. After an error nothing more is written.
func (k *keptWriter) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return 0, k.err
	}
	n, err := k.to.Write(p)
	if err == nil {
		return n, nil
	}
	cause := err
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		cause = at.Err
	}
	k.err = fail(exitFailure, "what there is to print could not be written: %w", cause)
	return n, k.err
}

// failed returns the error of the first write that failed.
func (k *keptWriter) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
