package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func budgetCommand(c *cli) *cobra.Command {
	return group("budget", "Budgets: what may be spent", append(c.verbsBelow("budget"), budgetRaise(c), budgetTransfer(c))...)
}

func budgetRaise(c *cli) *cobra.Command {
	var until, reason string
	cmd := c.command("raise BUDGET DOLLARS", "Give a budget more money for its present period", "listBudgets", "raiseBudget")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		end, err := c.parseInstant(until)
		if err != nil {
			return err
		}
		return callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
			id, err := budgetID(ctx, server, args[0])
			if err != nil {
				return nil, err
			}
			return server.RaiseBudget(ctx, id, api.BudgetRaise{AmountUSD: args[1], Until: end, Reason: some(reason)})
		}, printBudget)(cmd, args)
	}
	cmd.Flags().StringVar(&until, "until", "", "`time` at which it is taken back, as +2h or 2026-11-30; by default the period's end")
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why")
	return cmd
}

func budgetTransfer(c *cli) *cobra.Command {
	var reason string
	cmd := c.command("transfer FROM TO DOLLARS", "Move free money from one budget to another", "listBudgets", "transferBudget")
	cmd.RunE = callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
		from, err := budgetID(ctx, server, args[0])
		if err != nil {
			return nil, err
		}
		other, err := budgetID(ctx, server, args[1])
		if err != nil {
			return nil, err
		}
		return server.TransferBudget(ctx, from, api.BudgetTransfer{To: other, AmountUSD: args[2], Reason: some(reason)})
	}, printBudget)
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why")
	return cmd
}

// getBudget calls for the budget that has a name or an id.
var getBudget askName = func(server *api.Client, ctx context.Context, name string, _ ...editor) (*http.Response, error) {
	id, err := budgetID(ctx, server, name)
	if err != nil {
		return nil, err
	}
	return server.GetBudget(ctx, id)
}

// budgetID returns the id of the budget that has a name or an id.
func budgetID(ctx context.Context, server *api.Client, name string) (string, error) {
	_, said, err := readInto[api.BudgetList](server.ListBudgets(ctx))
	if err != nil {
		return "", err
	}
	found := ""
	for _, one := range said.Items {
		if one.ID == name {
			return name, nil
		}
		if one.Name == name {
			if found != "" {
				return "", fail(exitUsage, "several budgets have the name %q: give the id that `fleet budget list` shows", name)
			}
			found = one.ID
		}
	}
	if found == "" {
		return "", fail(exitNotFound, "there is no budget %q: `fleet budget list` shows those that there are", name)
	}
	return found, nil
}

func printBudgets(s *screen, w io.Writer, reply api.BudgetList) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "There are no budgets.")
		return
	}
	t := s.table("NAME", "OF", "PERIOD", "LIMIT", "SETTLED", "RESERVED", "FREE", "LASTS", "ID").narrows("NAME")
	for _, b := range reply.Items {
		t.row(b.Name, describeScope(b), b.Period, orNone(b.State.LimitUSD), dollars(b.State.SettledUSD), dollars(b.State.ReservedUSD),
			orNone(b.State.RemainingUSD), verdict(b), b.ID)
	}
	t.print(w)
}

// describeScope returns what a budget is of.
func describeScope(b api.Budget) string {
	name := cmp.Or(b.Job, b.Phase, b.Product)
	if name == "" {
		return string(b.Scope)
	}
	return string(b.Scope) + " " + name
}

func orNone(amount *string) string {
	if amount == nil {
		return "none"
	}
	return dollars(*amount)
}

func verdict(b api.Budget) cell {
	said := string(b.Projection.Verdict)
	return cell{words(said), map[string]string{"enough": green, "runs_out": yellow, "throttle": yellow, "exhausted": red}[said]}
}

func printBudget(s *screen, w io.Writer, b api.Budget) {
	fmt.Fprintln(w, cleanLine(b.Name))
	out := facts{w}
	out.line("id", b.ID)
	out.line("of", describeScope(b))
	out.line("period", fmt.Sprintf("%s in %s, since %s", b.Period, b.Timezone, s.ago(b.State.PeriodStart)))
	out.line("ends", s.agoOrEmpty(b.State.PeriodEnd))
	out.line("limit", orNone(b.State.LimitUSD))
	out.line("settled", dollars(b.State.SettledUSD))
	out.line("reserved", dollars(b.State.ReservedUSD))
	out.line("free", orNone(b.State.RemainingUSD))
	out.line("lasts", verdict(b).text)
	out.line("used up", s.agoOrEmpty(b.Projection.ExhaustedAtP50))
	if !b.Hard {
		out.line("kind", "soft: it only tells")
	}
}

func printUsage(s *screen, w io.Writer, reply api.UsageSummary) {
	t := s.table("GROUP", "COST", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "UNPRICED").narrows("GROUP")
	line := func(name string, u api.Usage) {
		cost := "unknown"
		if u.CostUSD != nil {
			cost = dollars(*u.CostUSD)
		}
		t.row(name, cost, tokens(u.InputTokens), tokens(u.OutputTokens), tokens(u.CacheReadTokens),
			tokens(u.CacheWriteTokens+u.CacheWrite1HTokens), tokens(u.UnpricedTokens))
	}
	for _, one := range reply.Items {
		name := cmp.Or(one.Group, "none")
		if one.Label != "" {
			name += " " + one.Label
		}
		line(name, one.Usage)
	}
	line("all", reply.Total)
	t.print(w)
	if reply.Groups > len(reply.Items) {
		fmt.Fprintf(w, "Groups that are not shown: %d; --limit shows more.\n", reply.Groups-len(reply.Items))
	}
}

// tokens writes a number of tokens short.
func tokens(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.0f M", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0f k", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
