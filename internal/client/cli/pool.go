package cli

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/scaler"
)

func poolCommand(c *cli) *cobra.Command {
	return group("pool", "Pools: templates of factories that are started where jobs need them", append(c.verbsBelow("pool"), poolSet(c))...)
}

func printPools(s *screen, w io.Writer, reply api.PoolList) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "There are no pools. `fleet pool set` makes one.")
		return
	}
	t := s.table("NAME", "FACTORIES", "MAX", "SEATS", "STARTS IN", "OFFERS").narrows("OFFERS")
	for _, p := range reply.Items {
		t.row(p.Name, p.Factories+p.Draining+p.Starting, p.Max, p.Offers.Seats, coldStart(p.ColdStartSeconds), offersOfPool(p))
	}
	t.print(w)
}

func coldStart(seconds *int) string {
	if seconds == nil {
		return ""
	}
	return fmt.Sprintf("about %d s", *seconds)
}

// offersOfPool returns what a factory of the pool would offer.
func offersOfPool(p api.Pool) string {
	var all []string
	if p.Offers.OS != "" {
		all = append(all, "os:"+p.Offers.OS)
	}
	for _, e := range p.Offers.Engines {
		all = append(all, "engine:"+e)
	}
	all = append(all, p.Offers.Capabilities...)
	for _, r := range p.Offers.Repos {
		all = append(all, "repo:"+r)
	}
	return strings.Join(all, ", ")
}

func printPool(_ *screen, w io.Writer, p api.Pool) {
	fmt.Fprintln(w, cleanLine(p.Name))
	out := facts{w}
	out.line("offers", offersOfPool(p))
	out.line("seats", fmt.Sprintf("%d each", p.Offers.Seats))
	out.line("factories", fmt.Sprintf("%d to %d, %d idle", p.Min, p.Max, p.MinIdle))
	out.line("now", fmt.Sprintf("%d live, %d draining, %d starting", p.Factories, p.Draining, p.Starting))
	out.line("cool-down", fmt.Sprintf("%d s", p.CoolDownSeconds))
	out.line("products", strings.Join(p.ProductScope, ", "))
	out.line("starts in", coldStart(p.ColdStartSeconds))
}

func printDemand(_ *screen, w io.Writer, d api.PoolDemand) {
	out := facts{w}
	out.line("wanted", d.Value)
	out.line("there", d.Factories)
	out.line("draining", d.Draining)
	out.line("starting", d.Starting)
	out.line("to start", d.Start)
	out.line("jobs", fmt.Sprintf("%d queued, %d offered, %d running", d.Queued, d.Offered, d.Running))
	if d.AtMaximum {
		fmt.Fprintln(w, "The pool is at its maximum.")
	}
}

func printPoolHistory(s *screen, w io.Writer, h api.PoolHistory) {
	if len(h.Starts) == 0 {
		fmt.Fprintln(w, "No scaler has started a factory for it.")
		return
	}
	t := s.table("FACTORY", "STARTED", "READY AFTER", "ENDED", "WHY")
	for _, one := range h.Starts {
		ready := ""
		if one.RegisteredAt != nil {
			ready = fmt.Sprintf("%.1f s", one.RegisteredAt.Sub(one.StartedAt).Seconds())
		}
		why := one.Detail
		if one.Failed {
			why = "failed: " + why
		}
		t.row(one.Factory, s.ago(one.StartedAt), ready, s.agoOrEmpty(one.EndedAt), why)
	}
	t.print(w)
}

func poolSet(c *cli) *cobra.Command {
	cmd := c.command("set POOL", "Make a pool, or change its template", "getPool", "putPool")
	cmd.Long = "Makes a pool, or changes what is named of its template: what a factory that is started for it offers, and how many\n" +
		"there may be. A list that is named takes the place of the one before; one that is empty (--engine '') is none.\n" +
		"`fleet scaler` starts them on this machine."
	var t api.PoolTemplate
	var os string
	var engines, capabilities, repos, products []string
	var seats, least, idle, coolDown int
	flags := cmd.Flags()
	flags.StringVar(&os, "os", "", "the operating `system`: linux, darwin, windows")
	flags.StringSliceVar(&engines, "engine", nil, "an `engine` that it has; repeatable")
	flags.StringSliceVar(&capabilities, "label", nil, "a `capability` that it has; repeatable")
	flags.StringSliceVar(&repos, "repo", nil, "`name` of a repository that it holds; repeatable")
	flags.IntVar(&seats, "seats", 1, "how many jobs it works on at once")
	flags.IntVar(&least, "min", 0, "how many factories there are at least")
	flags.IntVar(&t.Max, "max", 1, "how many factories there are at most")
	flags.IntVar(&idle, "min-idle", 0, "how many there are beside those that jobs need")
	flags.IntVar(&coolDown, "cool-down", 300, "for how many `seconds` one has not to be needed until it is ended")
	flags.StringSliceVar(&products, "product", nil, "`name` of a product whose jobs it may have, where it may not have all; repeatable")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t.Offers = api.PoolOffers{OS: &os, Engines: &engines, Capabilities: &capabilities, Repos: &repos, Seats: &seats}
		t.Min, t.MinIdle, t.CoolDownSeconds, t.ProductScope = &least, &idle, &coolDown, &products
		server, err := c.connect()
		if err != nil {
			return err
		}
		present, err := server.GetPoolWithResponse(cmd.Context(), args[0])
		switch {
		case err == nil:
			p := present.JSON200
			for flag, keep := range map[string]func(){
				"os": func() { os = p.Offers.OS }, "seats": func() { seats = p.Offers.Seats },
				"engine": func() { engines = p.Offers.Engines },
				"label":  func() { capabilities = p.Offers.Capabilities }, "repo": func() { repos = p.Offers.Repos },
				"min": func() { least = p.Min }, "max": func() { t.Max = p.Max }, "min-idle": func() { idle = p.MinIdle },
				"cool-down": func() { coolDown = p.CoolDownSeconds }, "product": func() { products = p.ProductScope },
			} {
				if !flags.Changed(flag) {
					keep()
				}
			}
		case !api.Refused(err, api.ProblemCodeNotFound):
			return err
		}
		for _, list := range []*[]string{&engines, &capabilities, &repos, &products} {
			if *list == nil {
				*list = []string{}
			}
		}
		return answer(c, printPool)(server.PutPool(cmd.Context(), args[0], t))
	}
	return cmd
}

// scalerCommand is `fleet scaler`.
func (c *cli) scalerCommand() *cobra.Command {
	var o scaler.Options
	var commands []string
	cmd := &cobra.Command{
		Use: "scaler", Args: cobra.NoArgs,
		Short: "Start workers on this machine while jobs need them, from none on",
		Long: "scaler reads the demand of pools every second. It starts a worker by the pool's command as soon as one is needed, and\n" +
			"drains and ends workers that were not needed for the pool's cool-down, those without a job first. A worker gets the\n" +
			"variables FLEETBOARD_POOL and FLEETBOARD_FACTORY, and those of the scaler but for FLEETBOARD_TOKEN.\n\n" +
			"The command takes the place of the shell that reads it (exec); write sh -c '…' for more than one. Its output is in\n" +
			"output.log below --state. Workers go on when the scaler ends, and belong to the next one with the same --state; a\n" +
			"scaler without a pool's command ends that pool's workers. Its token must be that of an owner or an admin.",
		Example:     "  fleet scaler --pool 'linux=fleet worker --repos /srv/src --engine claude'",
		Annotations: calls("getPool", "getPoolDemand", "scalePool", "getFactory", "drainFactory", "undrainFactory"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Commands = map[string]string{}
			for _, line := range commands {
				pool, command, found := strings.Cut(line, "=")
				if !found || pool == "" || strings.TrimSpace(command) == "" || strings.ContainsAny(pool, "/\\") || pool[0] == '.' {
					return fail(exitUsage, "--pool: %q is not POOL=COMMAND", line)
				}
				o.Commands[pool] = command
			}
			if o.Every < 100*time.Millisecond || o.Patience < time.Second || o.Most < 1 {
				return fail(exitUsage, "--every must be at least 100ms, --patience 1s, --most 1")
			}
			server, err := c.connect()
			if err != nil {
				return err
			}
			o.Server, o.Log = scaler.Remote{Client: server}, slog.New(slog.NewTextHandler(c.env.Err, nil))
			if o.State == "" {
				o.State = filepath.Join(c.env.StateDir, "scaler")
			}
			if c.env.Environ != nil {
				o.Environ = append(slices.DeleteFunc(c.env.Environ(), func(v string) bool {
					return strings.HasPrefix(v, "FLEETBOARD_TOKEN=") || strings.HasPrefix(v, "FLEETBOARD_URL=")
				}), "FLEETBOARD_URL="+server.Server())
			}
			return scaler.Run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&commands, "pool", nil, "start workers of a pool by this command: `POOL=COMMAND`; repeatable")
	flags.StringVar(&o.State, "state", "", "keep what was started in this `directory`; without it in that of fleet's state")
	flags.StringVar(&o.Host, "host", hostName(), "begin the names of factories by this `name`, behind the pool's")
	flags.DurationVar(&o.Every, "every", time.Second, "read the demand so often")
	flags.IntVar(&o.Most, "most", 16, "how many workers of a pool run here at most")
	flags.DurationVar(&o.Patience, "patience", 30*time.Second, "kill a worker that does not end within twice as long")
	return cmd
}
