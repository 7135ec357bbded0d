package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func jobComment(c *cli) *cobra.Command {
	var n api.NewComment
	var commit, path, side, reply string
	var line int
	cmd := c.command("comment JOB TEXT", "Comment on a line of a job's work, or reply", "addComment")
	cmd.Long = "Comments on a line of a commit that was handed in, or with --reply on what somebody said. With - as TEXT the comment is\n" +
		"read from stdin."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := c.readText(args[1])
		if err != nil {
			return err
		}
		n.Text, n.Commit, n.Path = strings.TrimSpace(text), some(commit), some(path)
		n.Side, n.InReplyTo, n.Line = some(side), some(reply), flagValue(cmd, "line", line)
		server, err := c.connect()
		if err != nil {
			return err
		}
		return answer(c, printCommented)(server.AddComment(cmd.Context(), args[0], n))
	}
	cmd.Flags().StringVar(&commit, "commit", "", "the `commit` that was handed in")
	cmd.Flags().StringVar(&path, "path", "", "the `file`, from the root of the repository")
	cmd.Flags().IntVar(&line, "line", 0, "the `number` of the line; the whole file by default")
	cmd.Flags().StringVar(&side, "side", "", "the `side` of the change that has the line, old or new; new by default")
	cmd.Flags().StringVar(&reply, "reply", "", "the `id` of a comment to reply to")
	return cmd
}

// resolveEach resolves comments, or opens them again.
func resolveEach(resolved bool) call {
	return call{nil, func(ctx context.Context, r request) error {
		return r.c.forEach(r.args, func(id string) error {
			return answer(r.c, printCommented)(r.to.EditComment(ctx, id, api.CommentEdit{Resolved: &resolved}))
		})
	}}
}

func printCommented(_ *screen, w io.Writer, one api.Comment) {
	fmt.Fprintf(w, "%s on %s: %s\n", one.ID, sayPlace(one), sayState(one))
}

func printComments(s *screen, w io.Writer, reply api.CommentPage) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "Nobody has commented on it.")
	}
	for _, one := range reply.Items {
		indent := ""
		if one.InReplyTo != nil {
			indent = "  "
		} else {
			fmt.Fprintf(w, "%s on %s: %s\n", one.ID, sayPlace(one), sayState(one))
		}
		fmt.Fprintf(w, "%s  %s, %s: %s\n", indent, cleanLine(one.Author), s.ago(one.CreatedAt), cleanLine(one.Text))
	}
	more(w, reply.NextCursor)
}

// sayPlace names the line of a comment as it is now, or where it was.
func sayPlace(one api.Comment) string {
	path, line := one.Path, one.Line
	if p := one.Position; p != nil {
		path, line = p.Path, p.Line
	}
	place := cleanLine(path)
	if line > 0 {
		place += fmt.Sprintf(":%d", line)
	}
	if one.Side == "old" {
		place += " (before)"
	}
	return place
}

func sayState(one api.Comment) string {
	state := "open"
	if one.Resolved {
		state = "resolved"
	}
	if one.Outdated {
		state += ", outdated since " + cleanLine(one.Commit)
	}
	return state
}

// printCarried prints the comments that a job came with.
func printCarried(w io.Writer, job api.Job) {
	if job.FeedbackComments == nil {
		return
	}
	for _, one := range *job.FeedbackComments {
		place := cleanLine(one.Path)
		if one.Line > 0 {
			place += fmt.Sprintf(":%d", one.Line)
		}
		facts{w}.text("comment", place+", by "+one.Author+": "+one.Text)
	}
}
