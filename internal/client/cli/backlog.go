package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// backlogCommand has the verbs and flags under which scripts know a backlog: the job is
// named with --id, and the statuses are ready, claimed, blocked and done.
func backlogCommand(c *cli) *cobra.Command {
	create, claim, block := jobCreate(c), jobClaim(c), decide(c, decisions[0])
	complete, reclaim, link, list := jobComplete(c), jobReclaim(c), jobLink(c), jobList(c)
	create.Flags().String("title", "", "`title`")
	create.Flags().SetNormalizeFunc(otherName("id", "key"))
	byFlags(create, "title")
	claim.Flags().SetNormalizeFunc(otherName("owner", "agent"))
	for _, one := range []*cobra.Command{claim, block, complete, reclaim} {
		one.Flags().String("id", "", "`key` of the job")
		byFlags(one, "id")
	}
	for _, one := range []*cobra.Command{block, complete} {
		_ = one.Flags().Set("reason", "from the command line")
	}
	link.Flags().String("from", "", "`key` of the job that waits")
	link.Flags().String("to", "", "`key` of the job that it waits for")
	byFlags(link, "from", "to")
	asStatuses(list)
	return group("backlog", "The same as job, with the verbs and flags of a backlog",
		append(c.verbsBelow("backlog"), create, list, claim, reclaim, link, block, complete)...)
}

// byFlags lets arguments be given as flags.
func byFlags(cmd *cobra.Command, names ...string) {
	check, run := cmd.Args, cmd.RunE
	with := func(cmd *cobra.Command, args []string) []string {
		var named []string
		for _, name := range names {
			if f := cmd.Flags().Lookup(name); f.Changed {
				named = append(named, f.Value.String())
			}
		}
		return slices.Concat(named, args)
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error { return check(cmd, with(cmd, args)) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, with(cmd, args)) }
}

// otherName lets a flag be given under another name.
func otherName(other, name string) func(*pflag.FlagSet, string) pflag.NormalizedName {
	return func(_ *pflag.FlagSet, said string) pflag.NormalizedName {
		if said == other {
			said = name
		}
		return pflag.NormalizedName(said)
	}
}

// asStatuses takes the statuses of a backlog as well.
func asStatuses(list *cobra.Command) {
	run := list.RunE
	list.RunE = func(cmd *cobra.Command, args []string) error {
		f, ok := cmd.Flags().Lookup("status").Value.(pflag.SliceValue)
		if !ok {
			return run(cmd, args)
		}
		var wanted []string
		for _, one := range f.GetSlice() {
			switch one {
			case "claimed":
				wanted = append(wanted, "assigned", "running")
			case "done":
				wanted = append(wanted, "completed")
			default:
				wanted = append(wanted, one)
			}
		}
		if err := f.Replace(wanted); err != nil {
			return err
		}
		return run(cmd, args)
	}
}
