package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func factoryCommand(c *cli) *cobra.Command {
	return group("factory", "Factories: the hosts on which agents work", c.verbsBelow("factory")...)
}

func printFactories(s *screen, w io.Writer, reply api.FactoryPage) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "There are no factories. `fleet worker` makes this machine one.")
		return
	}
	t := s.table("NAME", "HEALTH", "SEATS", "AGENTS", "OFFERS", "HEARD").narrows("OFFERS")
	for _, f := range reply.Items {
		health := painted(string(f.Health))
		if f.Draining {
			health.text += ", draining"
		}
		if n := len(f.Unavailable); n > 0 {
			health.text += fmt.Sprintf(", %d not offered", n)
		}
		t.row(f.Name, health, fmt.Sprintf("%d/%d", f.SeatsTaken, f.Seats), len(f.Agents), offersInShort(f),
			s.agoOrEmpty(f.LastHeartbeatAt))
	}
	t.print(w)
	more(w, reply.NextCursor)
}

func formatRepos(repos []api.Repo) string {
	names := make([]string, len(repos))
	for i, one := range repos {
		names[i] = one.Name
	}
	return strings.Join(names, ", ")
}

// offers returns what a factory offers beside its repositories.
func offers(f api.Factory) string {
	var all []string
	for _, one := range f.Offers {
		if !strings.HasPrefix(one, "repo:") {
			all = append(all, one)
		}
	}
	return strings.Join(all, ", ")
}

func printFactory(s *screen, w io.Writer, f api.Factory) {
	fmt.Fprintln(w, cleanLine(f.Name))
	out := facts{w}
	out.line("health", words(string(f.Health)))
	out.line("host", f.Host)
	out.line("seats", fmt.Sprintf("%d of %d taken", f.SeatsTaken, f.Seats))
	if f.Draining {
		out.line("draining", "by "+f.DrainedBy+", "+s.agoOrEmpty(f.DrainedAt))
	}
	out.line("offers", offers(f))
	out.line("repos", formatRepos(f.Repos))
	for _, u := range f.Unavailable {
		out.line("not offered", fmt.Sprintf("%s %s, since %s: %s", u.Kind, u.Name, s.ago(u.Since), u.Reason))
	}
	for _, r := range f.Rescued {
		out.line("moved aside", fmt.Sprintf("%s, %s, in %s: %s", r.Name, s.ago(r.Since), r.Path, r.Why))
	}
	out.line("heard", s.agoOrEmpty(f.LastHeartbeatAt))
	if len(f.Agents) > 0 {
		fmt.Fprintln(w)
		printAgents(s, w, api.AgentPage{Items: f.Agents})
	}
}

// printDrained says whether a factory takes jobs.
func printDrained(_ *screen, w io.Writer, f api.Factory) {
	if f.Draining {
		fmt.Fprintf(w, "%s drains; jobs that it has now: %d\n", cleanLine(f.Name), f.SeatsTaken)
		return
	}
	fmt.Fprintf(w, "%s takes jobs.\n", cleanLine(f.Name))
}

func stopCommand(c *cli) *cobra.Command {
	var reason, hold string
	cmd := c.command("stop [PRODUCT…]", "Stop the whole fleet, or products", "stopFleet")
	cmd.Long = "Stops the whole fleet, or the products that are named: no job of theirs is given out until `fleet release`. With\n" +
		"--hold all, agents that work on one are asked to pause, too; their jobs go on after the release."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return fail(exitUsage, "a reason is needed: --reason \"…\"")
		}
		return callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
			return server.StopFleet(ctx, api.StopOrder{Reason: reason, Hold: api.StopOrderHold(hold), Products: &args})
		}, printStops)(cmd, args)
	}
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why; everybody reads it, agents too")
	cmd.Flags().StringVar(&hold, "hold", string(api.StopOrderHoldClaims), "`what` is held: claims, or all for the running work too")
	cmd.ValidArgsFunction = c.complete(productNames, 0)
	return cmd
}

func releaseCommand(c *cli) *cobra.Command {
	cmd := c.command("release [PRODUCT…]", "Let go on what `fleet stop` stopped", "releaseFleet")
	cmd.Long = "Lets go on all that is stopped, or the products that are named, each of which was stopped by its name."
	cmd.RunE = callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
		return server.ReleaseFleet(ctx, api.StopRelease{Products: &args})
	}, printStops)
	cmd.ValidArgsFunction = c.complete(productNames, 0)
	return cmd
}

func printStops(s *screen, w io.Writer, reply api.StopList) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "Nothing is stopped.")
		return
	}
	t := s.table("STOPPED", "HOLDS", "BY", "SINCE", "REASON").narrows("REASON")
	for _, one := range reply.Items {
		holds := "new claims"
		if one.Hold == api.StopHoldAll {
			holds = "all work"
		}
		product := ""
		if one.Product != nil {
			product = *one.Product
		}
		t.row(cmp.Or(product, "the whole fleet"), holds, one.By.Name, s.ago(one.At), one.Reason)
	}
	t.print(w)
}

func agentCommand(c *cli) *cobra.Command {
	return group("agent", "Agents: what works on jobs", append(c.verbsBelow("agent"), agentTerminate(c))...)
}

func agentTerminate(c *cli) *cobra.Command {
	var graceful bool
	var reason string
	cmd := c.command("terminate AGENT…", "End agents: at once, or with --graceful after their jobs", "terminateAgent")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return fail(exitUsage, "a reason is needed: --reason \"…\"")
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		return c.forEach(args, func(name string) error {
			return answer(c, printEnded)(server.TerminateAgent(cmd.Context(), name,
				api.TerminateRequest{Reason: reason, Graceful: &graceful}))
		})
	}
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why")
	cmd.Flags().BoolVar(&graceful, "graceful", false, "its present jobs may end first")
	return cmd
}

// printEnded says that an agent was ended.
func printEnded(_ *screen, w io.Writer, a api.Agent) {
	fmt.Fprintf(w, "%s was ended; jobs that it has now: %d\n", cleanLine(a.Name), a.CurrentJobs)
}

func printAgents(s *screen, w io.Writer, reply api.AgentPage) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "There are no such agents.")
		return
	}
	t := s.table("NAME", "HEALTH", "STATUS", "FACTORY", "ROLES", "MODEL", "JOBS", "HEARD").narrows("ROLES")
	for _, a := range reply.Items {
		status := words(a.Status)
		if a.Terminated {
			status = "ended"
		}
		t.row(a.Name, painted(string(a.Health)), status, a.Factory, strings.Join(a.Roles, ", "), a.Model,
			fmt.Sprintf("%d/%d", a.CurrentJobs, a.MaxConcurrentJobs), s.ago(a.LastHeartbeatAt))
	}
	t.print(w)
	more(w, reply.NextCursor)
}

func printAgent(s *screen, w io.Writer, a api.Agent) {
	fmt.Fprintln(w, cleanLine(a.Name))
	out := facts{w}
	out.line("health", words(string(a.Health)))
	out.line("status", words(a.Status))
	out.line("factory", a.Factory)
	out.line("roles", strings.Join(a.Roles, ", "))
	out.line("model", a.Model)
	out.line("provider", a.Provider)
	out.line("offers", strings.Join(a.Capabilities, ", "))
	out.line("jobs", fmt.Sprintf("%d of %d", a.CurrentJobs, a.MaxConcurrentJobs))
	out.line("heard", s.ago(a.LastHeartbeatAt))
	out.line("held until", s.agoOrEmpty(a.HeldUntil))
	if a.Terminated {
		out.line("ended", a.TerminateReason)
	}
}

// languages are the tools whose version a person looks for, the first of them first.
var languages = []string{"go", "node", "python3", "java", "rustc", "ruby", "php", "dotnet", "swift"}

// isVersion is the value of a capability such as go:1.26.
var isVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

// offersInShort returns what a factory offers, by kind: repositories, engines, what its owner has
// labelled, languages, its system; other tools are counted.
func offersInShort(f api.Factory) string {
	const most = 2 // of the same kind
	versions, tools, labels := map[string]string{}, map[string]bool{}, []string{}
	for _, offer := range f.Offers {
		kind, value, _ := strings.Cut(offer, ":")
		switch {
		case slices.Contains([]string{"repo", "os", "arch", "engine"}, kind) && value != "":
		case kind == "has" && value != "":
			tools[value] = true
		case isVersion.MatchString(value):
			versions[kind] = longer(versions[kind], value)
			tools[kind] = true
		default:
			labels = append(labels, offer)
		}
	}
	var names []string
	for _, repo := range f.Repos {
		names = append(names, repo.Name)
	}
	all := orCount(names, 1, "repos")
	for _, engine := range f.Engines {
		all = append(all, strings.TrimSpace(engine+" "+versions[engine]))
		delete(tools, engine)
	}
	all = append(all, orCount(labels, most, "labels")...)
	shown := 0
	for _, name := range languages {
		if tools[name] && shown < most {
			all = append(all, strings.TrimSpace(name+" "+versions[name]))
			delete(tools, name)
			shown++
		}
	}
	all = append(all, f.OS)
	if len(tools) > 0 {
		all = append(all, fmt.Sprintf("%d more", len(tools)))
	}
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), ", ")
}

// orCount are names, or how many they are where they are more than most.
func orCount(names []string, most int, what string) []string {
	if len(names) <= most {
		return names
	}
	return []string{fmt.Sprintf("%d %s", len(names), what)}
}

// longer returns the version that says more.
func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

func dispatchCommand(c *cli) *cobra.Command {
	return group("dispatch", "How jobs are given out", append(c.verbsBelow("dispatch"), dispatchSet(c))...)
}

// dispatchFlags set what is not in a map.
var dispatchFlags = []flag{
	{"mode", "mode", "`who` decides which agent gets a job: pull, shadow or targeted", nil},
	{"offer-seconds", "offer_seconds", "how long a factory has to take what it was offered: 5 to 300", nil},
	{"affinity-seconds", "affinity_seconds", "for how long a job waits for a factory that has what it needs at hand: 0 to 60", nil},
	{"preempt-gap", "preempt_gap", "by how much a job must be more urgent than one that runs to be given its seat; 0 is never", nil},
	{"ageing-minutes", "ageing_minutes", "after how many minutes a ready job counts as more urgent by one; 0 is never", nil},
	{"short-jobs-first", "short_jobs_first", "whether, of jobs as urgent, short ones come first: each stands behind by its estimate", nil},
}

func dispatchSet(c *cli) *cobra.Command {
	cmd := c.command("set", "Change what is named of how jobs are given out\n"+
		"Changes what is named; the rest stays. It holds from the next claim on.", "putDispatch")
	takes := reflect.TypeFor[api.DispatchChange]()
	flags := cmd.Flags()
	addFlags(flags, takes, dispatchFlags)
	var products, weights []string
	flags.StringArrayVar(&products, "product-weight", nil, "a product's share of what is given out: `PRODUCT=1..100`; repeatable")
	flags.StringArrayVar(&weights, "weight", nil, "what a thing counts where factories are compared: `THING=0..10`; repeatable")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given, err := c.fields(flags, takes, dispatchFlags)
		if err != nil {
			return err
		}
		for flag, in := range map[string]struct {
			field string
			lines []string
		}{"product-weight": {"product_weights", products}, "weight": {"weights", weights}} {
			if len(in.lines) == 0 {
				continue
			}
			if given[in.field], err = parseWeights(in.lines); err != nil {
				return fail(exitUsage, "--%s: %w", flag, err)
			}
		}
		if len(given) == 0 {
			return fail(exitUsage, "nothing is named that is to change")
		}
		change, err := parameters[api.DispatchChange](given)
		if err != nil {
			return fail(exitUsage, "%w", err)
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		return answer(c, printDispatch)(server.PutDispatch(cmd.Context(), *change))
	}
	return cmd
}

// parseWeights reads lines of the form NAME=NUMBER.
func parseWeights(lines []string) (map[string]int, error) {
	list := map[string]int{}
	for _, line := range lines {
		at := strings.LastIndex(line, "=")
		n, err := strconv.Atoi(line[at+1:])
		if at < 1 || err != nil {
			return nil, fmt.Errorf("%q is not of the form NAME=NUMBER", line)
		}
		list[line[:at]] = n
	}
	return list, nil
}

func printDispatch(_ *screen, w io.Writer, d api.DispatchSettings) {
	out := facts{w}
	never := func(n int, text string) string {
		if n == 0 {
			return "never"
		}
		return fmt.Sprintf(text, n)
	}
	out.line("mode", string(d.Mode))
	out.line("ageing", never(d.AgeingMinutes, "one priority every %d minutes"))
	out.line("preemption", never(d.PreemptGap, "by jobs that are more urgent by %d"))
	out.line("short first", yesOrEmpty(d.ShortJobsFirst))
	out.line("offers stand", fmt.Sprintf("%d s", d.OfferSeconds))
	out.line("affinity", fmt.Sprintf("%d s", d.AffinitySeconds))
	var products []string
	for _, name := range slices.Sorted(maps.Keys(d.ProductWeights)) {
		products = append(products, fmt.Sprintf("%s %d", name, d.ProductWeights[name]))
	}
	out.line("products", strings.Join(products, ", "))
	x := d.Weights
	out.line("weights", fmt.Sprintf("capability_fit %d, affinity %d, load %d, cost_fit %d, health %d, starvation %d, anti_affinity %d",
		x.CapabilityFit, x.Affinity, x.Load, x.CostFit, x.Health, x.Starvation, x.AntiAffinity))
}

// printDecisions prints for each attempt why its factory, and how the others did.
func printDecisions(s *screen, w io.Writer, reply api.DecisionList) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "Factories were not compared for this job.")
	}
	for _, d := range reply.Items {
		fmt.Fprintf(w, "Attempt %d: %s, %s. %s\n", d.Epoch, cleanLine(d.Chosen), s.ago(d.At), cleanLine(d.Why))
		t := s.table("FACTORY", "SCORE", "MISSING").narrows("MISSING")
		for _, c := range d.Candidates {
			score := ""
			if c.Eligible {
				score = fmt.Sprintf("%.2f", c.Score)
			}
			t.row(c.Factory, score, strings.Join(c.Missing, ", "))
		}
		t.print(w)
	}
}

func printDeadOffers(s *screen, w io.Writer, reply api.DeadOfferList) {
	t := s.table("JOB", "TITLE", "FACTORY", "TOLD", "AT").narrows("TITLE")
	for _, d := range reply.Items {
		t.row(d.Job, d.Title, d.Factory, fmt.Sprintf("%d times", d.Deliveries), s.ago(d.At))
	}
	t.print(w)
}

// printDivergence prints how many decisions are of each class, and the newest that differ.
func printDivergence(s *screen, w io.Writer, d api.Divergence) {
	out := facts{w}
	out.line("decisions", fmt.Sprintf("%d since %s", d.Decisions, s.ago(d.Since)))
	for _, c := range []struct {
		name string
		n    int
	}{{"same", d.Classes.Same}, {"tie", d.Classes.Tie}, {"stale", d.Classes.StaleSnapshot}, {"infeasible", d.Classes.Infeasible},
		{"real", d.Classes.Real}} {
		out.line(c.name, fmt.Sprint(c.n))
	}
	if len(d.Examples) == 0 {
		return
	}
	t := s.table("JOB", "AT", "GOT IT", "BEST", "WHY").narrows("WHY")
	for _, e := range d.Examples {
		t.row(e.Job, s.ago(e.At), e.Pulled, cmp.Or(e.Scored, "none"), e.Why)
	}
	t.print(w)
}
