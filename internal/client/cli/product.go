package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func productCommand(c *cli) *cobra.Command {
	return group("product", "Products and their repositories", append(c.verbsBelow("product"), productSet(c))...)
}

func printProducts(s *screen, w io.Writer, said api.ProductPage) {
	t := s.table("NAME", "REPOS", "REVIEW", "PAUSED").cuts(1)
	for _, one := range said.Items {
		t.row(one.Name, strings.Join(one.Repos, ", "), yes(one.ReviewRequired), cell{yes(one.Paused), yellow})
	}
	t.print(w)
	more(w, said.NextCursor)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func printProduct(_ *screen, w io.Writer, one api.Product) {
	fmt.Fprintln(w, cleanLine(one.Name))
	say := facts{w}
	say.say("repos", strings.Join(one.Repos, ", "))
	say.say("review", yes(one.ReviewRequired))
	say.say("one job/repo", yes(one.OneJobPerRepo))
	if one.ReviewLimit != nil {
		say.say("in review", fmt.Sprintf("at most %d", *one.ReviewLimit))
	}
	say.say("paused", yes(one.Paused))
	say.say("merged by", strings.ReplaceAll(fmt.Sprintf("a %s, as %s", one.MergeBy, one.MergeMethod), "_", " "))
	say.say("merged into", one.MergeInto)
	say.say("checked by", one.MergeChecks)
	stay := fmt.Sprintf("%d days", one.BranchRetentionDays)
	if one.BranchRetentionDays == 0 {
		stay = "for ever"
	}
	say.say("branches stay", stay)
}

// productFlags set the settings of a product, but for its repositories.
var productFlags = []flag{
	{"review", "review_required", "whether a person looks at the work", nil},
	{"one-job-per-repo", "one_job_per_repo", "whether a repository has one running job at most", nil},
	{"review-limit", "review_limit", "how many jobs may be in review before no more are claimed; 0 is no limit", nil},
	{"branch-retention-days", "branch_retention_days",
		"after how many `days` workers remove the branches of ended jobs at the origin; 0 is never", 30},
	{"paused", "paused", "whether no job of it is claimed", nil},
	{"merge-by", "merge_by", "`who` merges approved work: person, worker for any factory with the repository, or pull_request", nil},
	{"merge-method", "merge_method", "`how` it is merged: merge_commit or fast_forward", nil},
	{"merge-into", "merge_into", "the `branch` it is merged into; empty is the default one", nil},
	{"merge-checks", "merge_checks", "the `command` that the merged work must pass; empty is none", nil},
}

func productSet(c *cli) *cobra.Command {
	var repos, add, drop []string
	takes := reflect.TypeFor[api.ProductSettings]()
	cmd := c.command("set PRODUCT", "Make a product, or change what is named of its settings", "getProduct", "putProduct")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		flags := cmd.Flags()
		changes, err := c.fields(flags, takes, productFlags)
		if err != nil {
			return err
		}
		if !flags.Changed("branch-retention-days") {
			delete(changes, "branch_retention_days")
		}
		if limit, err := flags.GetInt64("review-limit"); err == nil && limit == 0 && flags.Changed("review-limit") {
			changes["review_limit"] = nil
		}
		to, err := c.connect()
		if err != nil {
			return err
		}
		settings, err := readSettings(cmd.Context(), to, args[0])
		if err != nil {
			return err
		}
		maps.Copy(settings, changes)
		settings["repos"] = reposAfter(settings["repos"], flags.Changed("repos"), repos, add, drop)
		raw, err := json.Marshal(settings)
		if err != nil {
			return err
		}
		return answer(c, printProduct)(to.PutProductWithBody(cmd.Context(), args[0], "application/json", bytes.NewReader(raw)))
	}
	flags := cmd.Flags()
	addFlags(flags, takes, productFlags)
	flags.StringSliceVar(&repos, "repos", nil, "all its repositories, by `name`")
	flags.StringSliceVar(&add, "add-repo", nil, "`name` of one more repository; repeatable")
	flags.StringSliceVar(&drop, "drop-repo", nil, "`name` of a repository that it does not have any more; repeatable")
	return cmd
}

// readSettings returns a product's settings as they are; none where there is no such product.
func readSettings(ctx context.Context, to *api.Client, name string) (map[string]any, error) {
	_, settings, err := readInto[map[string]any](to.GetProduct(ctx, name))
	if p, ok := errors.AsType[*api.Error](err); ok && p.Status == http.StatusNotFound {
		return map[string]any{}, nil
	}
	return settings, err
}

// reposAfter returns the repositories that a product has afterwards.
func reposAfter(now any, all bool, repos, add, drop []string) []string {
	after := []string{}
	seen := map[string]bool{}
	for _, name := range drop {
		seen[name] = true
	}
	take := func(name string) {
		if !seen[name] {
			seen[name] = true
			after = append(after, name)
		}
	}
	if had, ok := now.([]any); ok && !all {
		for _, one := range had {
			if name, ok := one.(string); ok {
				take(name)
			}
		}
	}
	for _, name := range append(repos, add...) {
		take(name)
	}
	return after
}
