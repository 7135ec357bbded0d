package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
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

// page are the flags of a list that comes in pages.
type page struct {
	limit  int
	cursor string
}

func (p *page) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 50, "how many at most, 1 to 200")
	cmd.Flags().StringVar(&p.cursor, "cursor", "", "go on where the page before ended: its next_`cursor`")
}

// more says how to see the next page.
func more(w io.Writer, cursor string) {
	if cursor != "" {
		fmt.Fprintf(w, "There are more: --cursor %s\n", cleanLine(cursor))
	}
}

// listedJobs are the filters of a list of jobs.
type listedJobs struct {
	page
	statuses, fields                                    []string
	product, repo, phase, tag, factory, agent, q, since string
	failure, wait, sort                                 string
	priority                                            int
	ready                                               bool
}

func jobList(c *cli) *cobra.Command {
	var l listedJobs
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs, Short: "List jobs", Annotations: calls("listJobs")}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return listJobs(c, cmd, l) }
	flags := cmd.Flags()
	flags.StringSliceVarP(&l.statuses, "status", "s", nil, "`status`, as running; several with commas or repeated")
	flags.StringVar(&l.product, "product", "", "of this product, by `name`")
	flags.StringVar(&l.repo, "repo", "", "of this repository, by `name`")
	flags.StringVar(&l.phase, "phase", "", "of this phase, by `name`")
	flags.StringVar(&l.tag, "tag", "", "with this `tag`")
	flags.StringVar(&l.factory, "factory", "", "of the factory with this `name`")
	flags.StringVar(&l.agent, "agent", "", "that the agent with this `name` runs now")
	flags.StringVarP(&l.q, "query", "q", "", "with this `text` in key or title")
	flags.StringVar(&l.since, "since", "", "changed since this `time`, as 2h")
	flags.StringVar(&l.failure, "failure-kind", "", "whose last failure was of this `kind`")
	flags.StringVar(&l.wait, "wait-reason", "", "that wait for this `reason`")
	flags.StringVar(&l.sort, "sort", "", "`order`: created, age, updated, priority or cost")
	flags.IntVar(&l.priority, "priority", 0, "of at least this priority")
	flags.BoolVar(&l.ready, "ready-only", false, "that can be claimed now")
	flags.StringSliceVar(&l.fields, "fields", nil, "with --json: only these `fields`")
	l.flags(cmd)
	return cmd
}

func listJobs(c *cli, cmd *cobra.Command, l listedJobs) error {
	since, err := c.parseInstant(l.since)
	if err != nil {
		return err
	}
	params := &api.ListJobsParams{Product: some(l.product), Repo: some(l.repo), Phase: some(l.phase), Tag: some(l.tag),
		Factory: some(l.factory), Agent: some(l.agent), Q: some(l.q), FailureKind: some(api.FailureKind(l.failure)),
		WaitReason: some(api.WaitReason(l.wait)), Sort: some(api.ListJobsParamsSort(l.sort)),
		PriorityGTE: flagValue(cmd, "priority", l.priority), UpdatedSince: since, Cursor: some(l.cursor), Limit: &l.limit}
	if l.ready {
		params.ReadyOnly = &l.ready
	}
	if len(l.statuses) > 0 {
		wanted, err := parseStatuses(l.statuses)
		if err != nil {
			return err
		}
		params.Status = &wanted
	}
	if len(l.fields) > 0 && c.json {
		wanted := make([]api.JobField, len(l.fields))
		for i, f := range l.fields {
			wanted[i] = api.JobField(f)
		}
		params.Fields = &wanted
	}
	return printed(c, func(ctx context.Context, to *api.Client, _ []string) (*http.Response, error) {
		return to.ListJobs(ctx, params)
	}, c.tableOfJobs)(cmd, nil)
}

func (s *screen) tableOfJobs(w io.Writer, said api.JobPage) {
	if len(said.Items) == 0 {
		fmt.Fprintln(w, "There are no such jobs.")
		return
	}
	t := s.table("KEY", "STATUS", "PRI", "TITLE", "REPO", "NOW", "CHANGED").cuts(3)
	for _, job := range said.Items {
		t.row(job.Key, painted(string(job.Status)), job.Priority, job.Title, job.Repo, now(job), s.ago(job.UpdatedAt))
	}
	t.print(w)
	more(w, said.NextCursor)
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
	cmd := &cobra.Command{Use: "show JOB", ValidArgsFunction: c.complete(jobKeys(), 1),
		Args: cobra.ExactArgs(1), Short: "Show a job, its work, and what comes next",
		Annotations: calls("getJob", "explainJob", "listAttempts"),
		Example:     "  fleet job show FB-1\n  fleet job show FB-1 --jq .result.commit"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		body, job, err := readInto[api.Job](to.GetJob(cmd.Context(), args[0]))
		if err != nil {
			return err
		}
		var told *api.Delivery
		if job.Attempts > 0 && job.Lease == nil && !c.json {
			if told, err = lastDelivery(cmd.Context(), to, args[0]); err != nil {
				return err
			}
		}
		return c.show(body, func(w io.Writer) {
			c.wholeJob(w, job)
			c.delivery(w, told)
			printSteps(w, "how to get it", howToGet(job))
			if job.Status != api.JobStatusCompleted { // said already
				printSteps(w, "next", c.next(cmd.Context(), to, job))
			}
		})
	}
	return cmd
}

// facts are names and values, one to a line; those without a value are left out.
type facts struct {
	w io.Writer
}

func (f facts) say(name string, value any) {
	if text := cleanLine(fmt.Sprint(value)); text != "" {
		fmt.Fprintf(f.w, "%-13s %s\n", name, text)
	}
}

// text is a value of several lines, below its name.
func (f facts) text(name, value string) {
	value = strings.TrimSpace(clean(strings.ReplaceAll(value, "\r\n", "\n")))
	if value != "" {
		fmt.Fprintf(f.w, "\n%s\n", name)
		for line := range strings.SplitSeq(value, "\n") {
			fmt.Fprintln(f.w, strings.TrimRight("  "+line, " "))
		}
	}
}

func (s *screen) wholeJob(w io.Writer, job api.Job) {
	fmt.Fprintf(w, "%s  %s\n", cleanLine(job.Key), cleanLine(job.Title))
	f := facts{w}
	f.say("status", words(string(job.Status))+describeReason(job))
	f.say("priority", job.Priority)
	f.say("product", job.Product)
	f.say("repo", job.Repo)
	f.say("phase", job.Phase)
	f.say("kind", job.Kind)
	f.say("tags", strings.Join(job.Tags, ", "))
	f.say("needs", strings.Join(job.Capabilities, ", "))
	f.say("factory", job.Factory)
	f.say("waits for", strings.Join(job.DependsOn, ", "))
	if job.Lease != nil {
		f.say("agent", fmt.Sprintf("%s in %s, attempt %d, lease ends %s", job.Lease.Agent, job.Lease.Factory, job.Lease.Epoch,
			s.ago(job.Lease.ExpiresAt)))
		f.say("step", job.CurrentStep)
	}
	if job.ProgressPercent != nil {
		f.say("progress", strconv.Itoa(*job.ProgressPercent)+" %")
	}
	f.say("attempts", job.Attempts)
	if job.SpentUSD != nil {
		f.say("spent", dollars(*job.SpentUSD))
	}
	if job.EstimatedUSD != nil {
		f.say("estimate", dollars(*job.EstimatedUSD))
	}
	if job.BudgetUSD != nil {
		f.say("budget", dollars(*job.BudgetUSD))
	}
	work := readResult(job)
	f.say("branch", work.Branch)
	f.say("commit", work.Commit)
	f.say("changes", work.changes())
	f.say("approved", job.ApprovedHead)
	f.say("merged as", job.MergedCommit)
	f.say(linkName(job.URL), job.URL)
	f.say("not before", s.agoOrEmpty(job.NotBefore))
	f.say("created", cleanLine(job.CreatedBy)+", "+s.ago(job.CreatedAt))
	f.say("changed", s.ago(job.UpdatedAt)+", version "+strconv.Itoa(job.Version))
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

func jobExplain(c *cli) *cobra.Command {
	return &cobra.Command{Use: "explain JOB", ValidArgsFunction: c.complete(jobKeys(), 1),
		Args: cobra.ExactArgs(1), Short: "Say why a job does not run", Annotations: calls("explainJob"),
		RunE: printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
			return to.ExplainJob(ctx, args[0])
		}, func(w io.Writer, said api.Explanation) {
			fmt.Fprintf(w, "It is %s.\n", words(string(said.Status)))
			for _, one := range said.Reasons {
				fmt.Fprintln(w, cleanLine(one.Detail))
			}
			c.canRun(w, said.EligibleFactories, said.IneligibleFactories)
		})}
}

// statuses are in the order of a job's life.
var statuses = []string{"waiting", "ready", "assigned", "running", "paused", "blocked", "in_review", "approved", "completed",
	"failed", "aborted", "archived"}

func jobStats(c *cli) *cobra.Command {
	return &cobra.Command{Use: "stats", Args: cobra.NoArgs, Short: "Count jobs by status and product", Annotations: calls("getStats"),
		RunE: printed(c, func(ctx context.Context, to *api.Client, _ []string) (*http.Response, error) {
			return to.GetStats(ctx)
		}, func(w io.Writer, said api.Stats) {
			head := []string{"STATUS", "JOBS"}
			for _, p := range said.Products {
				head = append(head, cleanLine(p.Product))
			}
			t := c.table(head...)
			for _, status := range statuses {
				if said.ByStatus[status] == 0 {
					continue
				}
				row := []any{painted(status), said.ByStatus[status]}
				for _, p := range said.Products {
					row = append(row, p.ByStatus[status])
				}
				t.row(row...)
			}
			t.print(w)
			if age := said.OldestReadyAgeSeconds; age != nil {
				fmt.Fprintf(w, "The oldest ready job waits for %s.\n", span(time.Duration(*age)*time.Second))
			}
			if said.ExpiredLeases > 0 {
				fmt.Fprintf(w, "Leases past their time: %d; `fleet job reclaim` takes them back.\n", said.ExpiredLeases)
			}
		})}
}

// lastDelivery returns what became of the commit of the last attempt on a job, nil where nobody
// has reported it.
func lastDelivery(ctx context.Context, to *api.Client, job string) (*api.Delivery, error) {
	_, page, err := readInto[api.AttemptPage](to.ListAttempts(ctx, job, &api.ListAttemptsParams{Limit: new(1)}))
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return page.Items[0].Delivery, nil
}

// deliveries are the states in words.
var deliveries = map[api.DeliveryState]string{api.DeliveryStateLocal: "in the clone of its host",
	api.DeliveryStatePushed: "pushed to the origin", api.DeliveryStateRefused: "refused by the origin"}

// delivery says what became of a commit.
func (s *screen) delivery(w io.Writer, d *api.Delivery) {
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
