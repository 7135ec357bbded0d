package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func factoryCommand(c *cli) *cobra.Command {
	var p page
	listing := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs, Short: "List the factories",
		Annotations: calls("listFactories"),
		RunE: printed(c, func(ctx context.Context, to *api.Client, _ []string) (*http.Response, error) {
			return to.ListFactories(ctx, &api.ListFactoriesParams{Cursor: some(p.cursor), Limit: &p.limit})
		}, func(w io.Writer, said api.FactoryPage) {
			if len(said.Items) == 0 {
				fmt.Fprintln(w, "There are no factories. `fleet worker` makes this machine one.")
				return
			}
			t := c.table("NAME", "HEALTH", "SEATS", "AGENTS", "OFFERS", "HEARD").cuts(4)
			for _, f := range said.Items {
				health := painted(string(f.Health))
				if f.Draining {
					health.text += ", draining"
				}
				if n := len(f.Unavailable); n > 0 {
					health.text += fmt.Sprintf(", %d not offered", n)
				}
				t.row(f.Name, health, fmt.Sprintf("%d/%d", f.SeatsTaken, f.Seats), len(f.Agents), offersInShort(f),
					c.agoOrEmpty(f.LastHeartbeatAt))
			}
			t.print(w)
			more(w, said.NextCursor)
		})}
	p.flags(listing)
	show := &cobra.Command{Use: "show FACTORY", Args: cobra.ExactArgs(1), Short: "Show a factory and its agents",
		Annotations:       calls("getFactory"),
		ValidArgsFunction: c.complete(factoryNames, 1),
		RunE: printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
			return to.GetFactory(ctx, args[0])
		}, c.wholeFactory)}
	drain := &cobra.Command{Use: "drain FACTORY…", Args: cobra.MinimumNArgs(1),
		Short: "Give factories no new jobs; present ones may end", Annotations: calls("drainFactory"),
		ValidArgsFunction: c.complete(factoryNames, 0),
		RunE: c.each(func(ctx context.Context, to *api.Client, name string) error {
			return c.showFactory(to.DrainFactory(ctx, name))
		})}
	undrain := &cobra.Command{Use: "undrain FACTORY…", Args: cobra.MinimumNArgs(1), Short: "Give drained factories jobs again",
		Annotations:       calls("undrainFactory"),
		ValidArgsFunction: c.complete(factoryNames, 0),
		RunE: c.each(func(ctx context.Context, to *api.Client, name string) error {
			return c.showFactory(to.UndrainFactory(ctx, name))
		})}
	remove := &cobra.Command{Use: "remove FACTORY…", Aliases: []string{"rm"}, Args: cobra.MinimumNArgs(1),
		Annotations: calls("removeFactory"),
		Short:       "Forget factories whose agents are all dead", ValidArgsFunction: c.complete(factoryNames, 0),
		RunE: gone(c, "factory", func(ctx context.Context, to *api.Client, name string) (*http.Response, error) {
			return to.RemoveFactory(ctx, name)
		})}
	return group("factory", "Factories: the hosts on which agents work", listing, show, drain, undrain, remove)
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

func (s *screen) wholeFactory(w io.Writer, f api.Factory) {
	fmt.Fprintln(w, cleanLine(f.Name))
	say := facts{w}
	say.say("health", words(string(f.Health)))
	say.say("host", f.Host)
	say.say("seats", fmt.Sprintf("%d of %d taken", f.SeatsTaken, f.Seats))
	if f.Draining {
		say.say("draining", "by "+f.DrainedBy+", "+s.agoOrEmpty(f.DrainedAt))
	}
	say.say("offers", offers(f))
	say.say("repos", formatRepos(f.Repos))
	for _, u := range f.Unavailable {
		say.say("not offered", fmt.Sprintf("%s %s, since %s: %s", u.Kind, u.Name, s.ago(u.Since), u.Reason))
	}
	for _, r := range f.Rescued {
		say.say("moved aside", fmt.Sprintf("%s, %s, in %s: %s", r.Name, s.ago(r.Since), r.Path, r.Why))
	}
	say.say("heard", s.agoOrEmpty(f.LastHeartbeatAt))
	if len(f.Agents) > 0 {
		fmt.Fprintln(w)
		s.tableOfAgents(w, api.AgentPage{Items: f.Agents})
	}
}

// showFactory prints how a factory stands after something was done with it.
func (c *cli) showFactory(answer *http.Response, err error) error {
	body, f, err := readInto[api.Factory](answer, err)
	if err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) {
		if f.Draining {
			fmt.Fprintf(w, "%s drains; jobs that it has now: %d\n", cleanLine(f.Name), f.SeatsTaken)
			return
		}
		fmt.Fprintf(w, "%s takes jobs.\n", cleanLine(f.Name))
	})
}

func agentCommand(c *cli) *cobra.Command {
	show := &cobra.Command{Use: "show AGENT", Args: cobra.ExactArgs(1), Short: "Show an agent", Annotations: calls("getAgent"),
		ValidArgsFunction: c.complete(agentNames, 1),
		RunE: printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
			return to.GetAgent(ctx, args[0])
		}, c.wholeAgent)}
	var p page
	jobs := &cobra.Command{Use: "jobs AGENT", Args: cobra.ExactArgs(1), Short: "List the jobs that an agent holds now",
		Annotations:       calls("listAgentJobs"),
		ValidArgsFunction: c.complete(agentNames, 1),
		RunE: printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
			return to.ListAgentJobs(ctx, args[0], &api.ListAgentJobsParams{Cursor: some(p.cursor), Limit: &p.limit})
		}, c.tableOfJobs)}
	p.flags(jobs)
	return group("agent", "Agents: what works on jobs", agentList(c), show, jobs, agentTerminate(c))
}

func agentList(c *cli) *cobra.Command {
	var p page
	var factory, health, product, status string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs, Short: "List the agents",
		Annotations: calls("listAgents"),
		RunE: printed(c, func(ctx context.Context, to *api.Client, _ []string) (*http.Response, error) {
			return to.ListAgents(ctx, &api.ListAgentsParams{Factory: some(factory), Health: some(api.Health(health)),
				Product: some(product),
				Status:  some(api.ListAgentsParamsStatus(status)), Cursor: some(p.cursor), Limit: &p.limit})
		}, c.tableOfAgents)}
	cmd.Flags().StringVar(&factory, "factory", "", "of the factory with this `name`")
	cmd.Flags().StringVar(&health, "health", "", "with this `health`: healthy, warn, stale, dead or ended")
	cmd.Flags().StringVar(&product, "product", "", "that may work for the product with this `name`")
	cmd.Flags().StringVar(&status, "status", "", "that last said this `status`: idle, working or blocked")
	p.flags(cmd)
	return cmd
}

func agentTerminate(c *cli) *cobra.Command {
	var graceful bool
	var reason string
	cmd := &cobra.Command{Use: "terminate AGENT…", Args: cobra.MinimumNArgs(1), Annotations: calls("terminateAgent"),
		ValidArgsFunction: c.complete(agentNames, 0),
		Short:             "End agents: at once, or with --graceful after their jobs"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return fail(exitUsage, "a reason is needed: --reason \"…\"")
		}
		return c.each(func(ctx context.Context, to *api.Client, name string) error {
			body, a, err := readInto[api.Agent](to.TerminateAgent(ctx, name,
				api.TerminateRequest{Reason: reason, Graceful: &graceful}))
			if err != nil {
				return err
			}
			return c.show(body, func(w io.Writer) {
				fmt.Fprintf(w, "%s was ended; jobs that it has now: %d\n", cleanLine(a.Name), a.CurrentJobs)
			})
		})(cmd, args)
	}
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why")
	cmd.Flags().BoolVar(&graceful, "graceful", false, "its present jobs may end first")
	return cmd
}

func (s *screen) tableOfAgents(w io.Writer, said api.AgentPage) {
	if len(said.Items) == 0 {
		fmt.Fprintln(w, "There are no such agents.")
		return
	}
	t := s.table("NAME", "HEALTH", "STATUS", "FACTORY", "ROLES", "MODEL", "JOBS", "HEARD").cuts(4)
	for _, a := range said.Items {
		status := words(a.Status)
		if a.Terminated {
			status = "ended"
		}
		t.row(a.Name, painted(string(a.Health)), status, a.Factory, strings.Join(a.Roles, ", "), a.Model,
			fmt.Sprintf("%d/%d", a.CurrentJobs, a.MaxConcurrentJobs), s.ago(a.LastHeartbeatAt))
	}
	t.print(w)
	more(w, said.NextCursor)
}

func (s *screen) wholeAgent(w io.Writer, a api.Agent) {
	fmt.Fprintln(w, cleanLine(a.Name))
	say := facts{w}
	say.say("health", words(string(a.Health)))
	say.say("status", words(a.Status))
	say.say("factory", a.Factory)
	say.say("roles", strings.Join(a.Roles, ", "))
	say.say("model", a.Model)
	say.say("provider", a.Provider)
	say.say("offers", strings.Join(a.Capabilities, ", "))
	say.say("jobs", fmt.Sprintf("%d of %d", a.CurrentJobs, a.MaxConcurrentJobs))
	say.say("heard", s.ago(a.LastHeartbeatAt))
	say.say("held until", s.agoOrEmpty(a.HeldUntil))
	if a.Terminated {
		say.say("ended", a.TerminateReason)
	}
}
