package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetboard/fleetboard/api"
)

// maxInput is as much as a body of the API may have, in bytes.
const maxInput = 256 << 10

// newJobFlags are the fields of a new job that are a flag of the same kind.
var newJobFlags = []struct {
	flag, field, short string
	kind               string // text, list, int, bool
}{
	{"key", "key", "`key` of the job; the server gives one where it is left out", "text"},
	{"body", "body", "what is to be done, as Markdown; - reads stdin", "text"},
	{"kind", "kind", "`kind` of job", "text"},
	{"product", "product", "`name` of its product", "text"},
	{"repo", "repo", "`name` of its repository", "text"},
	{"phase", "phase", "`name` of its phase or milestone", "text"},
	{"priority", "priority", "0 to 10, higher is sooner", "int"},
	{"needs", "capabilities", "`capability` that a factory must offer, as os:linux; repeatable", "list"},
	{"factory", "factory", "`name` of the one factory that may run it", "text"},
	{"depends-on", "depends_on", "`job` that must be completed first; repeatable", "list"},
	{"tag", "tags", "`tag`; repeatable", "list"},
	{"file", "files", "`glob` of files that it means to touch; repeatable", "list"},
	{"acceptance", "acceptance", "`criterion` of acceptance; repeatable", "list"},
	{"complexity", "complexity", "1 to 5, how hard it is", "int"},
	{"minutes", "estimated_minutes", "estimate in minutes", "int"},
	{"tier", "tier", "`size` of model: small, standard or large", "text"},
	{"budget-usd", "budget_usd", "`dollars` that all attempts together may cost", "text"},
	{"token-budget", "token_budget", "tokens that all attempts together may use", "int"},
	{"review", "review_required", "whether a person looks at the work", "bool"},
	{"max-retries", "max_retries", "how often it is tried again after a failure", "int"},
	{"retry-backoff", "retry_backoff_seconds", "`seconds` before it is tried again", "int"},
	{"idempotency-key", "idempotency_key", "the same `key` and content give the job that was made", "text"},
	{"waits-for-children", "waits_for_children", "it is not completed while a child is open", "bool"},
}

func jobCreate(c *cli) *cobra.Command {
	var from, notBefore string
	var input, secrets []string
	cmd := &cobra.Command{Use: "create [TITLE]", Args: cobra.MaximumNArgs(1), Short: "Create a job", Annotations: calls("createJob"),
		Long: "Creates a job and says which factories can run it. Fields that have no flag are given with --from, as JSON with\n" +
			"the names of the API; flags win over it."}
	flags := cmd.Flags()
	for _, f := range newJobFlags {
		switch f.kind {
		case "text":
			flags.String(f.flag, "", f.short)
		case "list":
			flags.StringArray(f.flag, nil, f.short)
		case "int":
			flags.Int64(f.flag, 0, f.short)
		case "bool":
			flags.Bool(f.flag, false, f.short)
		}
	}
	flags.StringVar(&from, "from", "", "`file` with the job as JSON; - is stdin")
	flags.StringVar(&notBefore, "not-before", "", "`time` before which it does not start, as +2h or 2026-11-30T09:00:00Z")
	flags.StringArrayVar(&input, "input", nil, "`name=value` of input_context, JSON or a text; repeatable")
	flags.StringArrayVar(&secrets, "secret-file", nil, "`name=file`: a secret of input_context, read from a file; repeatable")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		job, err := jobFrom(c, from)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			job["title"] = args[0]
		}
		if err := takeFlags(c, cmd.Flags(), job); err != nil {
			return err
		}
		at, err := c.parseInstant(notBefore)
		if err != nil {
			return err
		}
		if at != nil {
			job["not_before"] = at
		}
		if err := takeInput(job, input, secrets); err != nil {
			return err
		}
		return createJob(c, cmd, job)
	}
	return cmd
}

// jobFrom reads the job that --from names.
func jobFrom(c *cli, path string) (map[string]any, error) {
	job := map[string]any{}
	if path == "" {
		return job, nil
	}
	raw, err := c.fileOrIn(path)
	if err != nil {
		return nil, err
	}
	numbers := json.NewDecoder(bytes.NewReader(raw))
	numbers.UseNumber()
	if err := numbers.Decode(&job); err != nil {
		return nil, fail(exitUsage, "%s must have a JSON object: %w", path, err)
	}
	return job, nil
}

// fileOrIn reads a file, or stdin where it is named -.
func (s *screen) fileOrIn(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(s.env.In, maxInput))
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return raw, nil
}

// takeFlags sets the fields whose flags were given.
func takeFlags(c *cli, flags *pflag.FlagSet, job map[string]any) error {
	for _, f := range newJobFlags {
		if !flags.Changed(f.flag) {
			continue
		}
		var err error
		switch f.kind {
		case "list":
			job[f.field], err = flags.GetStringArray(f.flag)
		case "int":
			job[f.field], err = flags.GetInt64(f.flag)
		case "bool":
			job[f.field], err = flags.GetBool(f.flag)
		default:
			job[f.field] = flags.Lookup(f.flag).Value.String()
		}
		if f.field == "body" {
			job[f.field], err = c.readText(flags.Lookup(f.flag).Value.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeInput adds the pairs of --input and --secret-file to input_context.
func takeInput(job map[string]any, input, secrets []string) error {
	if len(input)+len(secrets) == 0 {
		return nil
	}
	context, ok := job["input_context"].(map[string]any)
	if !ok {
		context = map[string]any{}
		job["input_context"] = context
	}
	for _, pair := range input {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return fail(exitUsage, "--input must be name=value, and is %q", pair)
		}
		context[name] = value
		if json.Valid([]byte(value)) {
			context[name] = json.RawMessage(value)
		}
	}
	keys, _ := job["secret_keys"].([]any)
	for _, pair := range secrets {
		name, path, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return fail(exitUsage, "--secret-file must be name=file, and is %q", pair)
		}
		value, err := os.ReadFile(path)
		if err != nil {
			return fail(exitUsage, "%w", err)
		}
		context[name] = strings.TrimRight(string(value), "\r\n")
		keys = append(keys, name)
	}
	if len(secrets) > 0 {
		job["secret_keys"] = keys
	}
	return nil
}

func createJob(c *cli, cmd *cobra.Command, job map[string]any) error {
	to, err := c.connect()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(job)
	if err != nil {
		return err
	}
	answer, err := to.CreateJobWithBody(cmd.Context(), &api.CreateJobParams{IdempotencyKey: requestKey()},
		"application/json", bytes.NewReader(raw))
	if err != nil {
		return err
	}
	known := answer.StatusCode == http.StatusOK
	body, made, err := readInto[api.Job](answer, nil)
	if err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) {
		did := "Created"
		if known {
			did = "Already there:"
		}
		fmt.Fprintf(w, "%s %s: %s\n", did, cleanLine(made.Key), cleanLine(made.Title))
		if made.Routability != nil {
			c.canRun(w, made.Routability.EligibleFactories, made.Routability.IneligibleFactories)
		}
	})
}

// canRun says which factories can run a job, and else what the nearest lacks.
func (s *screen) canRun(w io.Writer, eligible []string, others []api.Misfit) {
	if len(eligible) > 0 {
		fmt.Fprintf(w, "Factories that can run it: %s\n", cleanLine(strings.Join(eligible, ", ")))
		return
	}
	fmt.Fprintln(w, s.paint("No live factory can run it now.", yellow))
	for _, one := range others[:min(len(others), 3)] {
		why := words(one.Reason)
		if len(one.Missing) > 0 {
			why = "lacks " + strings.Join(one.Missing, ", ")
		}
		for _, u := range one.Unavailable {
			why += fmt.Sprintf("; %s is not offered now: %s", u.Name, u.Reason)
		}
		fmt.Fprintf(w, "  %s: %s\n", cleanLine(one.Factory), cleanLine(why))
	}
}
