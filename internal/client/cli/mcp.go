package cli

import (
	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/internal/client/mcptools"
)

// socketVariable names the socket of a worker in the environment of its agent programs.
const socketVariable = "FLEETBOARD_WORKER_SOCKET"

func (c *cli) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Args: cobra.NoArgs,
		Short: "Give an agent program the tools of its job (started by the program)",
		Long: "mcp speaks the Model Context Protocol on stdin and stdout, for an agent program that `fleet worker` runs: it can report\n" +
			"progress, ask a person, save a checkpoint and file a follow-up job. Workers start it by themselves.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			socket := c.env.Getenv(socketVariable)
			if socket == "" {
				return fail(exitUsage, "`fleet mcp` is started by agent programs that `fleet worker` runs: %s is not set", socketVariable)
			}
			return mcptools.Pipe(cmd.Context(), socket, c.env.In, c.env.Out)
		},
	}
}
