package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// paints are the colours of statuses and healths.
var paints = map[string]string{
	"assigned": blue, "running": blue, "blocked": yellow, "in_review": yellow, "paused": yellow, "approved": green,
	"completed": green, "failed": red, "aborted": red, "archived": dim, "waiting": dim,
	"healthy": green, "warn": yellow, "stale": yellow, "dead": red,
}

// painted returns a word of the API in its colour.
func painted(word string) cell { return cell{words(word), paints[word]} }

// words writes a name of the API as people do.
func words(name string) string { return cleanLine(strings.ReplaceAll(name, "_", " ")) }

// more says how to see the next page.
func more(w io.Writer, cursor string) {
	if cursor != "" {
		fmt.Fprintf(w, "There are more: --cursor %s\n", cleanLine(cursor))
	}
}

// jobFilters are the flags of a list of jobs.
var jobFilters = slices.Concat([]flag{
	{"status,s", "status", "`status`, as running; several with commas or repeated", nil},
	{"product", "product", "of this product, by `name`", nil},
	{"repo", "repo", "of this repository, by `name`", nil},
	{"phase", "phase", "of this phase, by `name`", nil},
	{"tag", "tag", "with this `tag`", nil},
	{"factory", "factory", "of the factory with this `name`", nil},
	{"agent", "agent", "that the agent with this `name` runs now", nil},
	{"query,q", "q", "with this `text` in key or title", nil},
	{"since", "updated_since", "changed since this `time`, as 2h", nil},
	{"failure-kind", "failure_kind", "whose last failure was of this `kind`", nil},
	{"wait-reason", "wait_reason", "that wait for this `reason`", nil},
	{"verdict", "verdict", "with this `verdict` of a verifier: approve, changes or unsure", nil},
	{"round-gte", "round_gte", "that verifiers have sent back at least so often", nil},
	{"sort", "sort", "`order`: created, age, updated, priority or cost", nil},
	{"priority", "priority_gte", "of at least this priority", nil},
	{"ready-only", "ready_only", "that can be claimed now", nil},
	{"fields", "fields", "with --json: only these `fields`", nil},
}, pages)

// jobList is `fleet job list`. Statuses may be written as people write them, and --fields changes
// nothing of what is printed for people.
func jobList(c *cli) *cobra.Command {
	takes := reflect.TypeFor[api.ListJobsParams]()
	cmd := c.command("list", "List jobs", "listJobs")
	addFlags(cmd.Flags(), takes, jobFilters)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		fields, err := c.fields(cmd.Flags(), takes, jobFilters)
		if err != nil {
			return err
		}
		if wanted, ok := fields["status"].([]string); ok {
			if fields["status"], err = parseStatuses(wanted); err != nil {
				return err
			}
		}
		if !c.json {
			delete(fields, "fields")
		}
		params, err := parameters[api.ListJobsParams](fields)
		if err != nil {
			return err
		}
		return callAndPrint(c, func(ctx context.Context, server *api.Client, _ []string) (*http.Response, error) {
			return server.ListJobs(ctx, params)
		}, printJobs)(cmd, nil)
	}
	return cmd
}

func printJobs(s *screen, w io.Writer, reply api.JobPage) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "There are no such jobs.")
		return
	}
	t := s.table("KEY", "STATUS", "PRI", "TITLE", "REPO", "NOW", "CHANGED").narrows("TITLE")
	for _, job := range reply.Items {
		t.row(job.Key, painted(string(job.Status)), job.Priority, job.Title, job.Repo, now(job), s.ago(job.UpdatedAt))
	}
	t.print(w)
	more(w, reply.NextCursor)
}

// now says who works on a job and how far it is, or what it waits for.
func now(job api.Job) string {
	switch {
	case job.Lease != nil && job.ProgressPercent != nil:
		return fmt.Sprintf("%s %d %%", job.Lease.Agent, *job.ProgressPercent)
	case job.Lease != nil:
		return job.Lease.Agent
	case job.Question != "" && job.Answer == "" && job.Status == api.JobStatusBlocked:
		return "asks a question"
	case job.WaitReason != "":
		return words(string(job.WaitReason))
	case job.Status == api.JobStatusFailed:
		return words(string(job.FailureKind))
	}
	return ""
}

func jobShow(c *cli) *cobra.Command {
	cmd := c.command("show JOB", "Show a job, its work, and what comes next", "getJob", "explainJob", "listAttempts")
	cmd.Example = "  fleet job show FB-1\n  fleet job show FB-1 --jq .result.commit"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		server, err := c.connect()
		if err != nil {
			return err
		}
		body, job, err := readInto[api.Job](server.GetJob(cmd.Context(), args[0]))
		if err != nil {
			return err
		}
		var told *api.Delivery
		if job.Attempts > 0 && job.Lease == nil && !c.json {
			if told, err = lastDelivery(cmd.Context(), server, args[0]); err != nil {
				return err
			}
		}
		return c.show(body, func(w io.Writer) {
			printJob(&c.screen, w, job)
			printDelivery(&c.screen, w, told)
			printSteps(w, "how to get it", howToGet(job))
			if job.Status != api.JobStatusCompleted { // said already
				printSteps(w, "next", c.next(cmd.Context(), server, job))
			}
		})
	}
	return cmd
}

// facts prints names and values, one to a line; facts with an empty value are left out.
type facts struct {
	w io.Writer
}

func (f facts) line(name string, value any) {
	if text := cleanLine(fmt.Sprint(value)); text != "" {
		fmt.Fprintf(f.w, "%-13s %s\n", name, text)
	}
}

// text prints a value of several lines below its name.
func (f facts) text(name, value string) {
	value = strings.TrimSpace(clean(strings.ReplaceAll(value, "\r\n", "\n")))
	if value != "" {
		fmt.Fprintf(f.w, "\n%s\n", name)
		for line := range strings.SplitSeq(value, "\n") {
			fmt.Fprintln(f.w, strings.TrimRight("  "+line, " "))
		}
	}
}

func printJob(s *screen, w io.Writer, job api.Job) {
	fmt.Fprintf(w, "%s  %s\n", cleanLine(job.Key), cleanLine(job.Title))
	f := facts{w}
	f.line("status", words(string(job.Status))+describeReason(job))
	f.line("priority", job.Priority)
	f.line("product", job.Product)
	f.line("repo", job.Repo)
	f.line("phase", job.Phase)
	f.line("kind", job.Kind)
	f.line("tags", strings.Join(job.Tags, ", "))
	f.line("needs", strings.Join(job.Capabilities, ", "))
	f.line("factory", job.Factory)
	f.line("waits for", strings.Join(job.DependsOn, ", "))
	if job.Lease != nil {
		f.line("agent", fmt.Sprintf("%s in %s, attempt %d, lease ends %s", job.Lease.Agent, job.Lease.Factory, job.Lease.Epoch,
			s.ago(job.Lease.ExpiresAt)))
		f.line("step", job.CurrentStep)
	}
	if job.ProgressPercent != nil {
		f.line("progress", strconv.Itoa(*job.ProgressPercent)+" %")
	}
	f.line("attempts", job.Attempts)
	if job.SpentUSD != nil {
		f.line("spent", dollars(*job.SpentUSD))
	}
	if job.EstimatedUSD != nil {
		f.line("estimate", dollars(*job.EstimatedUSD))
	}
	if job.BudgetUSD != nil {
		f.line("budget", dollars(*job.BudgetUSD))
	}
	work := readResult(job)
	f.line("branch", work.Branch)
	f.line("commit", work.Commit)
	f.line("changes", work.changes())
	f.line("approved", job.ApprovedHead)
	f.line("merged as", job.MergedCommit)
	f.line(linkName(job.URL), job.URL)
	f.line("not before", s.agoOrEmpty(job.NotBefore))
	f.line("created", cleanLine(job.CreatedBy)+", "+s.ago(job.CreatedAt))
	f.line("changed", s.ago(job.UpdatedAt)+", version "+strconv.Itoa(job.Version))
	f.text("summary", work.Summary)
	f.text("question", job.Question)
	f.text("answer", job.Answer)
	f.text("feedback", job.Feedback)
	f.text("last error", job.LastError)
	for i, one := range job.Acceptance {
		if i == 0 {
			fmt.Fprintln(w, "\nacceptance")
		}
		box := "[ ]"
		if i < len(job.AcceptanceMet) && job.AcceptanceMet[i] {
			box = "[x]"
		}
		fmt.Fprintf(w, "  %s %s\n", box, cleanLine(one))
	}
	f.text("body", job.Body)
}

// describeReason is why a job is as it is, where it says so.
func describeReason(job api.Job) string {
	why := cmp.Or(job.BlockedReason, words(string(job.WaitReason)), words(string(job.FailureKind)))
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// dollars writes an amount of the API with two places, or more where it is small.
func dollars(amount string) string {
	value, err := strconv.ParseFloat(amount, 64)
	switch {
	case err != nil:
		return cleanLine(amount)
	case value != 0 && value < 0.01 && value > -0.01:
		return fmt.Sprintf("$%.4f", value)
	}
	return fmt.Sprintf("$%.2f", value)
}

func printExplanation(s *screen, w io.Writer, reply api.Explanation) {
	fmt.Fprintf(w, "It is %s.\n", words(string(reply.Status)))
	for _, one := range reply.Reasons {
		fmt.Fprintln(w, cleanLine(one.Detail))
	}
	printEligible(s, w, reply.EligibleFactories, reply.IneligibleFactories)
}

func printCollisions(s *screen, w io.Writer, reply api.Collisions) {
	t := s.table("JOB", "AGENT", "FACTORY", "SINCE", "FILES")
	for _, c := range reply.Items {
		files := strings.Join(c.Paths, ", ")
		if c.MorePaths > 0 {
			files += fmt.Sprintf(" and %d more", c.MorePaths)
		}
		t.row(c.Job, c.Agent, c.Factory, s.ago(c.Since), cleanLine(files))
	}
	t.print(w)
	if reply.MoreFiles {
		fmt.Fprintf(w, "It touches more than %d files; the others are not compared.\n", reply.FilesTouched)
	}
}

// statuses are in the order of a job's life.
var statuses = []string{"waiting", "ready", "assigned", "running", "paused", "blocked", "in_review", "approved", "completed",
	"failed", "aborted", "archived"}

func printStats(s *screen, w io.Writer, reply api.Stats) {
	head := []string{"STATUS", "JOBS"}
	for _, p := range reply.Products {
		head = append(head, cleanLine(p.Product))
	}
	t := s.table(head...)
	for _, status := range statuses {
		if reply.ByStatus[status] == 0 {
			continue
		}
		row := []any{painted(status), reply.ByStatus[status]}
		for _, p := range reply.Products {
			row = append(row, p.ByStatus[status])
		}
		t.row(row...)
	}
	t.print(w)
	if age := reply.OldestReadyAgeSeconds; age != nil {
		fmt.Fprintf(w, "The oldest ready job waits for %s.\n", span(time.Duration(*age)*time.Second))
	}
	if reply.ExpiredLeases > 0 {
		fmt.Fprintf(w, "Leases past their time: %d; `fleet job reclaim` takes them back.\n", reply.ExpiredLeases)
	}
}

// lastDelivery returns what became of the commit of the last attempt on a job, nil where nobody
// has reported it.
func lastDelivery(ctx context.Context, server *api.Client, job string) (*api.Delivery, error) {
	_, page, err := readInto[api.AttemptPage](server.ListAttempts(ctx, job, &api.ListAttemptsParams{Limit: new(1)}))
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return page.Items[0].Delivery, nil
}

// deliveries are the states in words.
var deliveries = map[api.DeliveryState]string{api.DeliveryStateLocal: "in the clone of its host",
	api.DeliveryStatePushed: "pushed to the origin", api.DeliveryStateRefused: "refused by the origin"}

// printDelivery says what became of a commit.
func printDelivery(s *screen, w io.Writer, d *api.Delivery) {
	if d == nil {
		return
	}
	said := deliveries[d.State]
	if said == "" {
		said = string(d.State)
	}
	f := facts{w}
	f.text("commit", d.Commit+" on "+d.Branch+": "+said+", "+s.ago(d.At))
	f.text("the origin said", d.Detail)
}
