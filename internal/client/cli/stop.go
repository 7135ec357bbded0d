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

func stopCommand(c *cli) *cobra.Command {
	var reason, hold string
	cmd := c.command("stop [PRODUCT…]", "Stop the whole fleet, or products: nothing new is given out\n"+
		"Stops the whole fleet, or the products that are named: no job of theirs is given out until `fleet release`. With\n"+
		"--hold all, agents that work on one are asked to pause, too; their jobs go on after the release.", "stopFleet")
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
