package mcp_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/cli"
)

// contract says how the fields of a call are given by the command and by the tool that stand for it:
// "call | command | tool", and below it "field | flag or argument | tool" for each field that is
// not given by a flag of its name and by a property of its name. "- why" says that it is not given.
const contract = `
createJob | job create | submit_job
	title | TITLE |
	key | | - the server numbers jobs; a name of the program's own is no help to people
	capabilities | --needs |
	tags | --tag |
	files | --file |
	estimated_minutes | --minutes |
	review_required | --review |
	retry_backoff_seconds | --retry-backoff | - an operator's setting
	max_retries | | - an operator's setting
	max_lost | | - an operator's setting
	estimated_complexity | | - complexity says it as a number
	waits_for_children | | - it needs links, which no tool makes
	input_context | --input | - it is for programs, not for a model to fill
	secret_keys | --secret-file | - a secret does not pass through a model
	discovered_from | - a person's job is discovered from none | - a person's job is discovered from none
listJobs | job list | list_jobs
	key | - the command job show takes several | - get_job reads one
	q | --query |
	updated_since | --since |
	priority_gte | --priority |
getJob | job show | get_job
	job | JOB |
explainJob | job explain | explain_job
	job | JOB |
listFactories | factory list | list_factories
getBudget | budget show | get_budget
	budget | BUDGET |
approveJob | job approve | review_job
	job | JOB… |
	version | --if-version |
rejectJob | job reject | review_job
	job | JOB… |
	version | --if-version |
answerJob | job answer | answer_question
	job | JOB |
	answer | TEXT |
	version | --if-version |
stopFleet | stop | stop_fleet
	products | PRODUCT… |
claimJobs | job claim | claim_next_job
	job | JOB |
	wait_seconds | --wait |
	ttl_seconds | --ttl |
	max | - one job is worked on by hand | - a program works on one job
	session_key | - there is no session | 
	request_id | - a person repeats no claim |
reportProgress | job progress | report_progress
	job | JOB |
	epoch | - it is kept with the lease |
	progress_percent | --percent |
	current_step | --step |
	checkpoint | | save_checkpoint
	checkpoint_blob | - a checkpoint by hand is small | - a checkpoint of a program without a worker is small
	model | - no model works by hand | - a program without a worker is not run for a tier
	files_touched | - told when it is completed |
	usage | - by the worker, which reads it | - by the worker, which reads it: a model does not know what it used
completeJob | job complete | complete_job
	job | JOB |
	epoch | - it is kept with the lease |
	files_touched | --file |
	result_blob | - fleet blob put and the API | - a result of a program without a worker is small
	patch_blob | - by the worker, which has the repository | - by the worker, which has the repository
	proofs | - by the worker, which makes them | - by the worker, which makes them
	proof_error | - by the worker, which makes them | - by the worker, which makes them
	comments | - fleet job resolve, and fleet job comment --reply |
	delivery_follows | - by the worker, which pushes | - by the worker, which pushes
	usage | - by the worker, which reads it | - by the worker, which reads it
	next | - one job is worked on by hand | - claim_next_job
failJob | job fail | fail_job
	job | JOB |
	epoch | - it is kept with the lease |
	retry_after_seconds | --retry-after |
	stack | - it is in the error |
	usage | - by the worker, which reads it | - by the worker, which reads it
	next | - one job is worked on by hand | - claim_next_job
askQuestion | job ask | ask_person
	job | JOB |
	epoch | - it is kept with the lease |
	question | QUESTION |
	checkpoint_blob | - a checkpoint by hand is small | - a checkpoint of a program without a worker is small
	usage | - by the worker, which reads it | - by the worker, which reads it
	next | - one job is worked on by hand | - claim_next_job
sendMessage | msg send | send_message
	correlation_id | --thread |
	in_reply_to | --reply |
	blob | - a long payload becomes one by itself | - a long payload becomes one by itself
	expires_at | - a person's message does not expire |
readMessages | msg inbox | read_messages
	types | --type |
	after | - the inbox shows all that was not taken |
	wait_seconds | - fleet msg watch waits |
	peek | - it always peeks; fleet msg watch takes |
`

// own are flags and properties of a command or a tool that are no fields of its call.
var own = map[string][]string{
	"job create":   {"from"},
	"job claim":    {"agent", "engine", "factory", "model", "offer", "repo"}, // of the registration
	"job complete": {"reason"},                                               // of finishJob
	"review_job":   {"decision"},
	// It is a report of progress, too: its lease.
	"save_checkpoint": {"job", "epoch"},
}

// line is what the contract says of one field.
type line struct{ flag, tool string }

// part is a call with its command and its tool.
type part struct {
	call, command, tool string
	lines               map[string]line
}

func readContract() (parts []part) {
	for text := range strings.Lines(strings.TrimLeft(contract, "\n")) {
		cells := strings.SplitN(strings.TrimRight(text, "\n"), "|", 3)
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " \t")
		}
		if strings.HasPrefix(text, "\t") {
			parts[len(parts)-1].lines[cells[0]] = line{cells[1], cells[2]}
			continue
		}
		parts = append(parts, part{cells[0], cells[1], cells[2], map[string]line{}})
	}
	return parts
}

// taken is what the description says of the fields of a call, as JSON.
func taken(t *testing.T, doc *openapi3.T, call string) map[string]object {
	t.Helper()
	all := map[string]object{}
	for _, item := range doc.Paths.Map() {
		for _, o := range item.Operations() {
			if o.OperationID != call {
				continue
			}
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				if p.Value.In == "header" {
					continue
				}
				s := plain(t, p.Value.Schema)
				if p.Value.Description != "" {
					s["description"] = p.Value.Description
				}
				all[p.Value.Name] = s
			}
			if o.RequestBody != nil {
				for name, s := range o.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
					all[name] = plain(t, s)
				}
			}
		}
	}
	return all
}

// plain returns a schema as JSON without references and without what is for our generators.
func plain(t *testing.T, ref *openapi3.SchemaRef) object {
	t.Helper()
	s := *ref.Value
	raw, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	o := decode(t, string(raw))
	maps.DeleteFunc(o, func(key string, _ any) bool { return strings.HasPrefix(key, "x-") })
	if o["additionalProperties"] == true { // what JSON Schema has anyway
		delete(o, "additionalProperties")
	}
	if o["format"] == "int64" {
		delete(o, "format")
	}
	if s.Items != nil {
		o["items"] = any(plain(t, s.Items))
	}
	if len(s.Properties) > 0 {
		properties := object{}
		for name, of := range s.Properties {
			properties[name] = any(plain(t, of))
		}
		o["properties"] = properties
	}
	return o
}

// The description of the API, the command line and the tools have one contract: each field of a call
// is given by all, under its name or a name that stands here, with the same type, values, limits
// and words; what one leaves out has a reason.
func TestOneContract(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(api.Description))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	tools := map[string]object{}
	for _, token := range []string{w.owner, w.agent("ada")} {
		maps.Copy(tools, w.program(token).schemas())
	}
	root := cli.NewRoot()
	used := map[string][]string{}
	for _, p := range readContract() {
		cmd, _, err := root.Find(strings.Fields(p.command))
		if err != nil || !slices.Contains(strings.Fields(cmd.Annotations["calls"]), p.call) {
			t.Fatalf("fleet %s does not call %s: %v", p.command, p.call, err)
		}
		fields := taken(t, doc, p.call)
		for name := range p.lines {
			if fields[name] == nil {
				t.Errorf("the contract says how to give %s of %s, which it has not", name, p.call)
			}
		}
		for name, schema := range fields {
			used[p.command] = append(used[p.command], p.checkCommand(t, cmd, name, schema))
			tool := p.checkTool(t, tools, name, schema)
			used[tool] = append(used[tool], name)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !slices.Contains(used[p.command], f.Name) && !slices.Contains(own[p.command], f.Name) {
				t.Errorf("--%s of fleet %s is no field of %s", f.Name, p.command, p.call)
			}
		})
	}
	for tool, schema := range tools {
		for name := range properties(schema) {
			if !slices.Contains(used[tool], name) && !slices.Contains(own[tool], name) {
				t.Errorf("%s of %s stands nowhere in the contract", name, tool)
			}
		}
	}
}

// of returns how a field is given.
func (p part) of(field string) line {
	l := p.lines[field]
	if l.flag == "" {
		l.flag = "--" + strings.ReplaceAll(field, "_", "-")
	}
	if l.tool == "" {
		l.tool = p.tool
	}
	return l
}

// checkCommand compares a field with the command's flag or argument and returns the flag.
func (p part) checkCommand(t *testing.T, cmd *cobra.Command, field string, schema object) (flag string) {
	t.Helper()
	said := p.of(field).flag
	flag, isFlag := strings.CutPrefix(said, "--")
	switch {
	case strings.HasPrefix(said, "- "):
		return ""
	case !isFlag && !strings.Contains(cmd.Use, said):
		t.Errorf("fleet %s has no argument %s", cmd.Use, said)
	case isFlag:
		for _, problem := range compareFlag(cmd.Flags().Lookup(flag), schema) {
			t.Errorf("%s of %s, --%s of fleet %s: %s", field, p.call, flag, p.command, problem)
		}
		return flag
	}
	return ""
}

// checkTool compares a field with the tool's property and returns the tool that has it.
func (p part) checkTool(t *testing.T, tools map[string]object, field string, schema object) (tool string) {
	t.Helper()
	tool = p.of(field).tool
	if strings.HasPrefix(tool, "- ") {
		if properties(tools[p.tool])[field] != nil {
			t.Errorf("%s offers %s, and the contract says why it does not", p.tool, field)
		}
		return ""
	}
	if got := properties(tools[tool])[field]; !reflect.DeepEqual(got, any(schema)) {
		t.Errorf("%s of %s is\n%s\nof the tool %s\n%s", field, p.call, text(t, schema), tool, text(t, got))
	}
	return tool
}

var (
	spans  = regexp.MustCompile(`(\d+) to (\d+)`)
	single = regexp.MustCompile(`[a-z_]+`)
)

// compareFlag says in what a flag differs from the field that it sets: its type, its default, and
// the limits and values that its help names.
func compareFlag(f *pflag.Flag, schema object) (problems []string) {
	if f == nil {
		return []string{"there is no such flag"}
	}
	is, _ := schema["type"].(string)
	kinds := map[string][]string{"integer": {"int", "int64"}, "boolean": {"bool"}, "array": {"stringArray", "stringSlice"},
		"string": {"string"}, "object": {"string", "stringArray"}}
	if !slices.Contains(kinds[is], f.Value.Type()) {
		problems = append(problems, "a flag of "+f.Value.Type()+" for "+is)
	}
	if first := schema["default"]; first != nil && f.DefValue != "" && f.DefValue != "0" && f.DefValue != text2(first) {
		problems = append(problems, "it begins with "+f.DefValue+", the call with "+text2(first))
	}
	for _, span := range spans.FindAllStringSubmatch(f.Usage, -1) {
		if span[1] != text2(schema["minimum"]) || span[2] != text2(schema["maximum"]) {
			problems = append(problems, "its help says "+span[0]+", the call "+text2(schema["minimum"])+" to "+text2(schema["maximum"]))
		}
	}
	values, _ := schema["enum"].([]any)
	if said := single.FindAllString(f.Usage, -1); len(values) > 0 && !strings.Contains(f.Usage, ", as ") {
		for _, value := range values {
			if value != "" && !slices.Contains(said, value.(string)) && named(said, values) > 1 {
				problems = append(problems, "its help does not name "+value.(string))
			}
		}
	}
	return problems
}

// named counts the values that a text names.
func named(said []string, values []any) (n int) {
	for _, v := range values {
		if slices.Contains(said, v.(string)) {
			n++
		}
	}
	return n
}

func text2(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	}
	return ""
}

func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func properties(schema object) object {
	p, _ := schema["properties"].(object)
	return p
}

// schemas returns what each tool takes.
func (p *program) schemas() map[string]object {
	p.t.Helper()
	list, err := p.session.ListTools(p.t.Context(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	all := map[string]object{}
	for _, tool := range list.Tools {
		all[tool.Name] = decode(p.t, text(p.t, tool.InputSchema))
	}
	return all
}
