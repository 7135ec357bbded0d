package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// maxInput is as much as a body of the API may have, in bytes.
const maxInput = 256 << 10

// newJobWords are what flags of a new job are called that are not called as their field, and what they say.
// A field that stands here without a help has no flag.
var newJobWords = []flag{
	{"", "key", "`key` of the job; the server gives one where it is left out", nil},
	{"", "body", "what is to be done, as Markdown; - reads stdin", nil},
	{"", "kind", "`kind` of job", nil},
	{"", "product", "`name` of its product", nil},
	{"", "repo", "`name` of its repository", nil},
	{"", "phase", "`name` of its phase or milestone", nil},
	{"", "priority", "0 to 10, higher is sooner", nil},
	{"needs", "capabilities", "`capability` that a factory must offer, as os:linux; repeatable", nil},
	{"", "factory", "`name` of the one factory that may run it", nil},
	{"", "depends_on", "`job` that must be completed first; repeatable", nil},
	{"tag", "tags", "`tag`; repeatable", nil},
	{"file", "files", "`glob` of files that it means to touch; repeatable", nil},
	{"", "acceptance", "`criterion` of acceptance; repeatable", nil},
	{"", "complexity", "1 to 5, how hard it is", nil},
	{"", "estimated_complexity", "its `size` as people estimate it, as large", nil},
	{"minutes", "estimated_minutes", "estimate in minutes", nil},
	{"", "tier", "`size` of model: small, standard or large", nil},
	{"", "budget_usd", "`dollars` that all attempts together may cost", nil},
	{"", "token_budget", "tokens that all attempts together may use", nil},
	{"review", "review_required", "whether a person looks at the work", nil},
	{"", "max_retries", "how often it is tried again after a failure", nil},
	{"", "max_lost", "how often it is tried again after its agent was lost", nil},
	{"retry-backoff", "retry_backoff_seconds", "`seconds` before it is tried again", nil},
	{"", "not_before", "`time` before which it does not start, as +2h or 2026-11-30T09:00:00Z", nil},
	{"", "blocked_reason", "`why` it is created blocked, until a person unblocks it", nil},
	{"", "idempotency_key", "the same `key` and content give the job that was made", nil},
	{"", "waits_for_children", "it is not completed while a child is open", nil},
	{"", "secret_keys", "", nil}, // of --secret-file
}

// newJob is what a job is created with.
var newJob = reflect.TypeFor[api.NewJob]()

// newJobFlags returns a flag for each field of a new job that is a text, a number, a time, a choice or a
// list of texts.
func newJobFlags() (all []flag) {
	for i := range newJob.NumField() {
		f := newJob.Field(i)
		said := flag{field: jsonName(f), help: "the " + words(jsonName(f)) + " of the job"}
		if i := slices.IndexFunc(newJobWords, func(w flag) bool { return w.field == said.field }); i >= 0 {
			said = newJobWords[i]
		}
		said.name = cmp.Or(said.name, strings.ReplaceAll(said.field, "_", "-"))
		if f.Type.Kind() == reflect.Pointer && isFlagged(f.Type.Elem()) && said.help != "" {
			all = append(all, said)
		}
	}
	return all
}

// isFlagged reports whether a flag can have values of a type.
func isFlagged(t reflect.Type) bool {
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Slice || t == reflect.TypeFor[time.Time]() ||
		t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}

func jobCreate(c *cli) *cobra.Command {
	var from string
	var input, secrets []string
	cmd := &cobra.Command{Use: "create [TITLE]", Args: cobra.MaximumNArgs(1), Short: "Create a job", Annotations: calls("createJob"),
		Long: "Creates a job and says which factories can run it. Fields that have no flag are given with --from, as JSON with\n" +
			"the names of the API; flags win over it."}
	flags := cmd.Flags()
	list := newJobFlags()
	addFlags(flags, newJob, list)
	flags.StringVar(&from, "from", "", "`file` with the job as JSON; - is stdin")
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
		fields, err := c.fields(cmd.Flags(), newJob, list)
		if err != nil {
			return err
		}
		if body, given := fields["body"].(string); given {
			if fields["body"], err = c.readText(body); err != nil {
				return err
			}
		}
		maps.Copy(job, fields)
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
	server, err := c.connect()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(job)
	if err != nil {
		return err
	}
	answer, err := server.CreateJobWithBody(cmd.Context(), &api.CreateJobParams{IdempotencyKey: requestKey()},
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
			printEligible(&c.screen, w, made.Routability.EligibleFactories, made.Routability.IneligibleFactories)
		}
	})
}

// printEligible says which factories can run a job, and else what the nearest lacks.
func printEligible(s *screen, w io.Writer, eligible []string, others []api.Misfit) {
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
