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
		return printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
			id, err := budgetID(ctx, to, args[0])
			if err != nil {
				return nil, err
			}
			return to.RaiseBudget(ctx, id, api.BudgetRaise{AmountUSD: args[1], Until: end, Reason: some(reason)})
		}, printBudget)(cmd, args)
	}
	cmd.Flags().StringVar(&until, "until", "", "`time` at which it is taken back, as +2h or 2026-11-30; by default the period's end")
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why")
	return cmd
}

func budgetTransfer(c *cli) *cobra.Command {
	var reason string
	cmd := c.command("transfer FROM TO DOLLARS", "Move free money from one budget to another", "listBudgets", "transferBudget")
	cmd.RunE = printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
		from, err := budgetID(ctx, to, args[0])
		if err != nil {
			return nil, err
		}
		other, err := budgetID(ctx, to, args[1])
		if err != nil {
			return nil, err
		}
		return to.TransferBudget(ctx, from, api.BudgetTransfer{To: other, AmountUSD: args[2], Reason: some(reason)})
	}, printBudget)
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why")
	return cmd
}

// getBudget calls for the budget that has a name or an id.
var getBudget askName = func(to *api.Client, ctx context.Context, name string, _ ...editor) (*http.Response, error) {
	id, err := budgetID(ctx, to, name)
	if err != nil {
		return nil, err
	}
	return to.GetBudget(ctx, id)
}

// budgetID returns the id of the budget that has a name or an id.
func budgetID(ctx context.Context, to *api.Client, name string) (string, error) {
	_, said, err := readInto[api.BudgetList](to.ListBudgets(ctx))
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

func printBudgets(s *screen, w io.Writer, said api.BudgetList) {
	if len(said.Items) == 0 {
		fmt.Fprintln(w, "There are no budgets.")
		return
	}
	t := s.table("NAME", "OF", "PERIOD", "LIMIT", "SETTLED", "RESERVED", "FREE", "LASTS", "ID").cuts(0)
	for _, b := range said.Items {
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
	say := facts{w}
	say.say("id", b.ID)
	say.say("of", describeScope(b))
	say.say("period", fmt.Sprintf("%s in %s, since %s", b.Period, b.Timezone, s.ago(b.State.PeriodStart)))
	say.say("ends", s.agoOrEmpty(b.State.PeriodEnd))
	say.say("limit", orNone(b.State.LimitUSD))
	say.say("settled", dollars(b.State.SettledUSD))
	say.say("reserved", dollars(b.State.ReservedUSD))
	say.say("free", orNone(b.State.RemainingUSD))
	say.say("lasts", verdict(b).text)
	say.say("used up", s.agoOrEmpty(b.Projection.ExhaustedAtP50))
	if !b.Hard {
		say.say("kind", "soft: it only tells")
	}
}

func printUsage(s *screen, w io.Writer, said api.UsageSummary) {
	t := s.table("GROUP", "COST", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "UNPRICED").cuts(0)
	line := func(name string, u api.Usage) {
		cost := "unknown"
		if u.CostUSD != nil {
			cost = dollars(*u.CostUSD)
		}
		t.row(name, cost, tokens(u.InputTokens), tokens(u.OutputTokens), tokens(u.CacheReadTokens),
			tokens(u.CacheWriteTokens+u.CacheWrite1HTokens), tokens(u.UnpricedTokens))
	}
	for _, one := range said.Items {
		name := cmp.Or(one.Group, "none")
		if one.Label != "" {
			name += " " + one.Label
		}
		line(name, one.Usage)
	}
	line("all", said.Total)
	t.print(w)
	if said.Groups > len(said.Items) {
		fmt.Fprintf(w, "Groups that are not shown: %d; --limit shows more.\n", said.Groups-len(said.Items))
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
