package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/importing"
)

// importFormats are what can be imported.
var importFormats = []struct{ name, short, long string }{
	{"beads", "Import the issues of beads",
		"FILE is an export of beads, one issue a line. Design and notes become part of the body, an epic waits for its\n" +
			"issues, and what is in progress, blocked or deferred there is created blocked. Deleted issues make no job."},
	{"github", "Import the issues of a repository on GitHub",
		"FILE is what `gh issue list --state all --json number,title,body,state,stateReason,url,labels` writes."},
	{"markdown", "Import the task lists of a Markdown file",
		"FILE has lines as `- [ ] Write the docs`. A task depends on those that are indented below it. A task is known\n" +
			"by the name of the file, its text and the tasks above it: one with another text is another job."},
}

func importCommand(c *cli) *cobra.Command {
	cmd := group("import", "Make jobs of work that is written elsewhere")
	for _, f := range importFormats {
		cmd.AddCommand(importFrom(c, f.name, f.short, f.long))
	}
	return cmd
}

func importFrom(c *cli, format, short, long string) *cobra.Command {
	var target importing.Target
	var dry, yes, draft bool
	cmd := &cobra.Command{Use: format + " FILE", Args: cobra.ExactArgs(1), Short: short,
		Annotations: calls("listJobs", "createJobs", "patchJob", "cancelJob"),
		Long: long + " - is stdin.\n\n" +
			"The same file can be imported again: jobs that it made before are found by their keys, and get the title,\n" +
			"the body, the priority, the new tags and the dependencies of the file while they are waiting, ready or\n" +
			"blocked. Dependencies on other work than the file's stay. What is done makes no job; where it has one that\n" +
			"nobody works on, that is cancelled. What has left the file is listed and stays: as long as it has the tag\n" +
			"import:" + format + ".\n\n" +
			"Where more than 20 jobs could start at once, all new ones are drafts: they are blocked until somebody lets\n" +
			"them go on (fleet job unblock). --draft makes drafts of fewer, --draft=false of none."}
	flags := cmd.Flags()
	flags.StringVar(&target.Product, "product", "", "`name` of the product of new jobs")
	flags.StringVar(&target.Repo, "repo", "", "`name` of the repository of new jobs")
	flags.BoolVar(&draft, "draft", false, "create jobs blocked (default where more than 20 could start at once)")
	flags.BoolVar(&dry, "dry-run", false, "show the difference and change nothing")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		items, err := c.readItems(format, args[0])
		if err != nil {
			return err
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("draft") {
			target.Draft = &draft
		}
		diff, err := importing.Plan(cmd.Context(), server, items, target)
		if err != nil {
			return err
		}
		if c.json {
			err = c.printRaw(diff)
		} else {
			printDifference(&c.screen, c.env.Out, diff)
		}
		if err != nil || dry || diff.Count(importing.Create)+diff.Count(importing.Change)+diff.Count(importing.Cancel) == 0 {
			return err
		}
		if !yes {
			if err := c.agree("Import this?", args[0] == "-"); err != nil {
				return err
			}
		}
		return c.apply(cmd.Context(), server, diff)
	}
	return cmd
}

// apply carries a difference out, and says which jobs were refused.
func (c *cli) apply(ctx context.Context, server *api.Client, d importing.Difference) error {
	refused, err := importing.Apply(ctx, server, d)
	for _, one := range refused {
		fmt.Fprintln(c.env.Err, "fleet:", cleanLine(one.String()))
	}
	switch {
	case err != nil:
		return err
	case len(refused) == 1:
		return fail(exitRefused, "1 job was refused; the rest is imported")
	case len(refused) > 1:
		return fail(exitRefused, "%d jobs were refused; the rest is imported", len(refused))
	}
	c.say("Imported.\n")
	return nil
}

// readItems reads a file, or stdin where it is named -.
func (s *screen) readItems(format, path string) ([]importing.Item, error) {
	from := s.env.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fail(exitUsage, "%w", err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	items, err := importing.Readers[format](path, from)
	if err != nil {
		return nil, fail(exitUsage, "%s: %w", path, err)
	}
	return items, nil
}

// printDifference prints what an import does. What does not change is only counted.
func printDifference(s *screen, w io.Writer, d importing.Difference) {
	colours := map[importing.Action]string{importing.Create: green, importing.Change: yellow, importing.Cancel: red}
	t := s.table("LINE", "DOES", "KEY", "TITLE", "").narrows("TITLE")
	for _, one := range d.Steps {
		if one.Action == importing.Unchanged && len(one.Notes) == 0 {
			continue
		}
		why := one.Notes
		if one.Why != "" {
			why = append([]string{one.Why}, why...)
		}
		t.row(one.Line, cell{string(one.Action), colours[one.Action]}, one.Key, one.Title, strings.Join(why, ", "))
		for _, change := range one.Changes {
			t.row("", "", "", fieldChange(change), "")
		}
	}
	if len(t.rows) > 0 {
		t.print(w)
	}
	fmt.Fprintf(w, "%d to create, %d to change, %d unchanged, %d skipped", d.Count(importing.Create),
		d.Count(importing.Change), d.Count(importing.Unchanged), d.Count(importing.Skip))
	if n := d.Count(importing.Cancel); n > 0 {
		fmt.Fprintf(w, ", %d to cancel", n)
	}
	fmt.Fprintln(w)
	switch created := d.Count(importing.Create); {
	case d.Draft && created > 0:
		fmt.Fprintf(w, "All new jobs are drafts, which are blocked until they are unblocked; "+
			"else %d could start at once (--draft=false).\n", d.Ready)
	case d.Ready > 0:
		fmt.Fprintf(w, "%d could start at once.\n", d.Ready)
	}
	if len(d.Gone) > 0 {
		fmt.Fprintf(w, "not in the file any more: %s\n", cleanLine(strings.Join(d.Gone, ", ")))
	}
}

// fieldChange says what becomes of a field: of a text the first line that differs, of a list what
// comes and goes.
func fieldChange(c importing.FieldChange) string {
	switch before := c.Old.(type) {
	case string:
		after, _ := c.New.(string)
		return changedText(c.Field, strings.Split(before, "\n"), strings.Split(after, "\n"))
	case []string:
		after, _ := c.New.([]string)
		return c.Field + ": " + strings.Join(append(without("+", after, before), without("−", before, after)...), " ")
	}
	return fmt.Sprintf("%s: %v → %v", c.Field, c.Old, c.New)
}

// changedText says how the first line that differs does.
func changedText(field string, before, after []string) string {
	const most = 40
	lines := max(len(before), len(after))
	before, after = append(before, make([]string, lines-len(before))...), append(after, make([]string, lines-len(after))...)
	n := 0
	for n < lines-1 && before[n] == after[n] {
		n++
	}
	if lines > 1 {
		field = fmt.Sprintf("%s, line %d", field, n+1)
	}
	return fmt.Sprintf("%s: %q → %q", field, cut(before[n], most), cut(after[n], most))
}

// without returns the texts of a list that another does not have, each behind a sign.
func without(sign string, list, other []string) []string {
	var found []string
	for _, one := range list {
		if !slices.Contains(other, one) {
			found = append(found, sign+one)
		}
	}
	return found
}

// agree asks the person at the terminal; without one --yes must be given.
func (s *screen) agree(question string, inTaken bool) error {
	if s.env.AskSecret == nil || inTaken {
		return fail(exitUsage, "nothing was changed; give --yes to do it without a question, or --dry-run to only look")
	}
	fmt.Fprintf(s.env.Err, "%s [y/N] ", question)
	said, err := bufio.NewReader(io.LimitReader(s.env.In, maxInput)).ReadString('\n')
	if said = strings.ToLower(strings.TrimSpace(said)); said == "y" || said == "yes" {
		return nil
	}
	if err != nil && err != io.EOF {
		return err
	}
	return fail(exitUsage, "nothing was changed")
}
