package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func productCommand(c *cli) *cobra.Command {
	var p page
	listing := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs, Short: "List the products",
		Annotations: calls("listProducts"),
		RunE: printed(c, func(ctx context.Context, to *api.Client, _ []string) (*http.Response, error) {
			return to.ListProducts(ctx, &api.ListProductsParams{Cursor: some(p.cursor), Limit: &p.limit})
		}, func(w io.Writer, said api.ProductPage) {
			t := c.table("NAME", "REPOS", "REVIEW", "PAUSED").cuts(1)
			for _, one := range said.Items {
				t.row(one.Name, strings.Join(one.Repos, ", "), yes(one.ReviewRequired), cell{yes(one.Paused), yellow})
			}
			t.print(w)
			more(w, said.NextCursor)
		})}
	p.flags(listing)
	show := &cobra.Command{Use: "show PRODUCT", Args: cobra.ExactArgs(1), Short: "Show a product", Annotations: calls("getProduct"),
		ValidArgsFunction: c.complete(productNames, 1),
		RunE: printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
			return to.GetProduct(ctx, args[0])
		}, c.wholeProduct)}
	remove := &cobra.Command{Use: "remove PRODUCT…", Aliases: []string{"rm"}, Args: cobra.MinimumNArgs(1),
		Annotations: calls("deleteProduct"),
		Short:       "Take away products that have no jobs", ValidArgsFunction: c.complete(productNames, 0),
		RunE: gone(c, "product", func(ctx context.Context, to *api.Client, name string) (*http.Response, error) {
			return to.DeleteProduct(ctx, name)
		})}
	return group("product", "Products and their repositories", listing, show, productSet(c), remove)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func (s *screen) wholeProduct(w io.Writer, one api.Product) {
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

func productSet(c *cli) *cobra.Command {
	var repos, add, drop []string
	var review, single, paused bool
	merge := map[string]*string{}
	var limit, retention int
	cmd := &cobra.Command{Use: "set PRODUCT", Args: cobra.ExactArgs(1), Annotations: calls("getProduct", "putProduct"),
		Short: "Make a product, or change what is named of its settings", ValidArgsFunction: c.complete(productNames, 1)}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		settings, err := readSettings(cmd.Context(), to, args[0])
		if err != nil {
			return err
		}
		flags := cmd.Flags()
		for flag, is := range map[string]bool{"review": review, "one-job-per-repo": single, "paused": paused} {
			if flags.Changed(flag) {
				settings[settingOf[flag]] = is
			}
		}
		for flag, text := range merge {
			if flags.Changed(flag) {
				settings[settingOf[flag]] = *text
			}
		}
		if flags.Changed("review-limit") {
			settings["review_limit"] = limit
			if limit == 0 {
				settings["review_limit"] = nil
			}
		}
		if flags.Changed("branch-retention-days") {
			settings["branch_retention_days"] = retention
		}
		settings["repos"] = reposAfter(settings["repos"], flags.Changed("repos"), repos, add, drop)
		raw, err := json.Marshal(settings)
		if err != nil {
			return err
		}
		body, _, err := readInto[api.Product](to.PutProductWithBody(cmd.Context(), args[0], "application/json", bytes.NewReader(raw)))
		if err != nil {
			return err
		}
		return c.show(body, func(w io.Writer) {
			var one api.Product
			if json.Unmarshal(body, &one) == nil {
				c.wholeProduct(w, one)
			}
		})
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&repos, "repos", nil, "all its repositories, by `name`")
	flags.StringSliceVar(&add, "add-repo", nil, "`name` of one more repository; repeatable")
	flags.StringSliceVar(&drop, "drop-repo", nil, "`name` of a repository that it does not have any more; repeatable")
	flags.BoolVar(&review, "review", false, "whether a person looks at the work")
	flags.BoolVar(&single, "one-job-per-repo", false, "whether a repository has one running job at most")
	flags.IntVar(&limit, "review-limit", 0, "how many jobs may be in review before no more are claimed; 0 is no limit")
	flags.IntVar(&retention, "branch-retention-days", 30,
		"after how many `days` workers remove the branches of ended jobs at the origin; 0 is never")
	flags.BoolVar(&paused, "paused", false, "whether no job of it is claimed")
	merge["merge-by"] = flags.String("merge-by", "",
		"`who` merges approved work: person, worker for any factory with the repository, or pull_request")
	merge["merge-method"] = flags.String("merge-method", "", "`how` it is merged: merge_commit or fast_forward")
	merge["merge-into"] = flags.String("merge-into", "", "the `branch` it is merged into; empty is the default one")
	merge["merge-checks"] = flags.String("merge-checks", "", "the `command` that the merged work must pass; empty is none")
	return cmd
}

// settingOf is the setting that a flag changes.
var settingOf = map[string]string{"review": "review_required", "one-job-per-repo": "one_job_per_repo", "paused": "paused",
	"merge-by": "merge_by", "merge-method": "merge_method", "merge-into": "merge_into", "merge-checks": "merge_checks"}

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
