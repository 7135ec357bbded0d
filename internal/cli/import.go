package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fleetboard/internal/importing"
)

// importFormats are what can be imported.
var importFormats = []struct{ name, short, long string }{
	{"beads", "Import the issues of beads", "FILE is an export of beads, one issue a line."},
	{"github", "Import the issues of a repository on GitHub",
		"FILE is what `gh issue list --state all --json number,title,body,state,url,labels` writes."},
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
	var dry, yes bool
	cmd := &cobra.Command{Use: format + " FILE", Args: cobra.ExactArgs(1), Short: short,
		Annotations: calls("listJobs", "createJobs", "patchJob"),
		Long: long + " - is stdin.\n\n" +
			"The same file can be imported again: jobs that it made before are found by their keys and the tag\n" +
			"import:" + format + ", and get the title, the body and the new tags of the file while they are waiting, ready\n" +
			"or blocked. What is done makes no job, and what has left the file stays."}
	flags := cmd.Flags()
	flags.StringVar(&target.Product, "product", "", "`name` of the product of new jobs")
	flags.StringVar(&target.Repo, "repo", "", "`name` of the repository of new jobs")
	flags.BoolVar(&dry, "dry-run", false, "show the difference and change nothing")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		items, err := c.itemsOf(format, args[0])
		if err != nil {
			return err
		}
		to, err := c.connect()
		if err != nil {
			return err
		}
		diff, err := importing.Plan(cmd.Context(), to, items, target)
		if err != nil {
			return err
		}
		if c.json {
			err = c.rawOf(diff)
		} else {
			c.difference(c.env.Out, diff)
		}
		if err != nil || dry || diff.Count(importing.Create)+diff.Count(importing.Change) == 0 {
			return err
		}
		if !yes {
			if err := c.agree("Import this?", args[0] == "-"); err != nil {
				return err
			}
		}
		if err := importing.Apply(cmd.Context(), to, diff); err != nil {
			return err
		}
		if !c.json {
			fmt.Fprintln(c.env.Out, "Imported.")
		}
		return nil
	}
	return cmd
}

// itemsOf reads a file, or stdin where it is named -.
func (s *screen) itemsOf(format, path string) ([]importing.Item, error) {
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

// difference prints what an import does. What does not change is only counted.
func (s *screen) difference(w io.Writer, d importing.Difference) {
	colours := map[importing.Action]string{importing.Create: green, importing.Change: yellow}
	t := s.table("LINE", "DOES", "KEY", "TITLE", "").cuts(3)
	for _, one := range d.Steps {
		if one.Action == importing.Unchanged && len(one.Notes) == 0 {
			continue
		}
		why := append(append([]string{}, one.Fields...), one.Notes...)
		if one.Why != "" {
			why = append([]string{one.Why}, why...)
		}
		t.row(one.Line, cell{string(one.Action), colours[one.Action]}, one.Key, one.Title, strings.Join(why, ", "))
	}
	if len(t.rows) > 0 {
		t.print(w)
	}
	fmt.Fprintf(w, "%d to create, %d to change, %d unchanged, %d skipped\n", d.Count(importing.Create),
		d.Count(importing.Change), d.Count(importing.Unchanged), d.Count(importing.Skip))
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
