package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
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
	fmt.Fprintf(w, "%d factories are wanted, %d are there, %d are being started\n", d.Value, d.Factories, d.Starting)
	fmt.Fprintf(w, "for %d queued, %d offered and %d running jobs\n", d.Queued, d.Offered, d.Running)
	if d.AtMaximum {
		fmt.Fprintln(w, "The pool is at its maximum.")
	}
}

func printPoolHistory(s *screen, w io.Writer, h api.PoolHistory) {
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
	cmd := c.command("set POOL", "Make a pool, or replace its template", "putPool")
	cmd.Long = "Makes a pool, or replaces all of its template: what a factory that is started for it offers, and how many there may be.\n" +
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
		for _, list := range []*[]string{&engines, &capabilities, &repos, &products} {
			if *list == nil {
				*list = []string{}
			}
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		return answer(c, printPool)(server.PutPool(cmd.Context(), args[0], t))
	}
	return cmd
}
