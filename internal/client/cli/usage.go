package cli

import (
	"io"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// usageCommand makes the command that sums usage up, or prints it as charges.
func usageCommand(c *cli) *cobra.Command {
	const help = "What models were used for, and what it cost\n" +
		"Sums usage up in groups. With --focus it prints the charges of the period instead, one for each hour, attempt\n" +
		"and model: CSV in the columns of FOCUS, the FinOps Open Cost and Usage Specification 1.2."
	cmd := verb{use: "usage", help: help, calls: "getUsage", flags: usageFlags,
		call: listAll((*api.Client).GetUsage, printUsage)}.command(c)
	focus := cmd.Flags().Bool("focus", false, "print charges as CSV in the columns of FOCUS 1.2")
	sum := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *focus && (cmd.Flags().Changed("by") || cmd.Flags().Changed("limit")):
			return fail(exitUsage, "--focus takes neither --by nor --limit: it prints all charges")
		case *focus:
			return c.printFocus(cmd)
		}
		return sum(cmd, args)
	}
	return cmd
}

// printFocus prints the charges that flags choose, as they arrive.
func (c *cli) printFocus(cmd *cobra.Command) error {
	fields, err := c.fields(cmd.Flags(), reflect.TypeFor[api.GetUsageParams](), usageFlags)
	if err != nil {
		return err
	}
	p, err := parameters[api.GetUsageParams](fields)
	if err != nil {
		return err
	}
	server, err := c.connect()
	if err != nil {
		return err
	}
	p.Format = some(api.UsageFormatFocus)
	answer, err := server.GetUsage(cmd.Context(), p)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(c.env.Out, answer.Body); err != nil {
		return fail(exitUnreachable, "the charges did not come whole: %w", err)
	}
	return nil
}
