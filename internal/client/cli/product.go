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
	"github.com/spf13/pflag"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

func productCommand(c *cli) *cobra.Command {
	return group("product", "Products and their repositories", append(c.verbsBelow("product"), productSet(c))...)
}

func printProducts(s *screen, w io.Writer, reply api.ProductPage) {
	t := s.table("NAME", "REPOS", "REVIEW", "PAUSED").narrows("REPOS")
	for _, one := range reply.Items {
		t.row(one.Name, strings.Join(one.Repos, ", "), yesOrEmpty(one.ReviewRequired), cell{yesOrEmpty(one.Paused), yellow})
	}
	t.print(w)
	more(w, reply.NextCursor)
}

// yesOrEmpty returns "yes" or, since facts leave out empty values, "".
func yesOrEmpty(value bool) string {
	if value {
		return "yes"
	}
	return ""
}

func printProduct(_ *screen, w io.Writer, product api.Product) {
	fmt.Fprintln(w, cleanLine(product.Name))
	out := facts{w}
	out.line("repos", strings.Join(product.Repos, ", "))
	out.line("review", yesOrEmpty(product.ReviewRequired))
	out.line("serialised by", strings.TrimPrefix(string(product.Serialise), "none"))
	if product.ReviewLimit != nil {
		out.line("in review", fmt.Sprintf("at most %d", *product.ReviewLimit))
	}
	out.line("paused", yesOrEmpty(product.Paused))
	out.line("merged by", strings.ReplaceAll(fmt.Sprintf("a %s, as %s", product.MergeBy, product.MergeMethod), "_", " "))
	out.line("merged into", product.MergeInto)
	out.line("checked by", product.MergeChecks)
	out.line("proved by", product.ProofCommand)
	retention := fmt.Sprintf("%d days", product.BranchRetentionDays)
	if product.BranchRetentionDays == 0 {
		retention = "for ever"
	}
	out.line("branches stay", retention)
	if product.Verify.Mode != api.VerifyOff {
		out.line("verified by", fmt.Sprintf("another %s, at most %d rounds", product.Verify.Distinct, product.Verify.Rounds))
		out.line("verifiers offer", strings.Join(product.Verify.Capabilities, ", "))
	}
	if auto := product.AutoApprove; auto.Enabled {
		by := "what its author says"
		if auto.RequireVerdict {
			by = "a verdict"
		}
		out.line("approved by", fmt.Sprintf("the policy, up to %d lines in %d files, by %s", auto.MaxLines, auto.MaxFiles, by))
		out.line("but not", strings.Join(auto.DenyPaths, ", "))
	}
	out.line("models", strings.Join(tiermodel.Table(product.Models).Lines(), ", "))
}

// productFlags set the settings of a product, but for its repositories.
var productFlags = []flag{
	{"review", "review_required", "whether a person looks at the work", nil},
	{"serialise", "serialise", "`which` jobs of one repository do not run at once: none, repo for all but one, or paths for those " +
		"whose files can be the same", nil},
	{"one-job-per-repo", "one_job_per_repo", "the former name of --serialise repo", nil},
	{"review-limit", "review_limit", "how many jobs may be in review before no more are claimed; 0 is no limit", nil},
	{"branch-retention-days", "branch_retention_days",
		"after how many `days` workers remove the branches of ended jobs at the origin; 0 is never", 30},
	{"paused", "paused", "whether no job of it is claimed", nil},
	{"merge-by", "merge_by", "`who` merges approved work: person, worker for any factory with the repository, or pull_request", nil},
	{"merge-method", "merge_method", "`how` it is merged: merge_commit or fast_forward", nil},
	{"merge-into", "merge_into", "the `branch` it is merged into; empty is the default one", nil},
	{"merge-checks", "merge_checks", "the `command` that the merged work must pass; empty is none", nil},
	{"proof-command", "proof_command", "the `command` whose files show in review that the acceptance criteria are met; empty is none", nil},
}

// verifyFlags are those of the part of a product's settings that is about verification.
var verifyFlags = []flag{
	{"verify", "mode", "`who` verifies work before a person decides: off for nobody, or agent for one that did not write it", nil},
	{"verify-capabilities", "capabilities", "what a verifier must offer beside the repository, as `tokens`", nil},
	{"verify-rounds", "rounds", "how `often` a verifier may send the work of a job back: 0 to 5", 2},
	{"verify-distinct", "distinct", "from `what` the verifier must differ: agent, model or provider", nil},
}

// autoApproveFlags are those of the part that is about approvals without a person.
var autoApproveFlags = []flag{
	{"auto-approve", "enabled", "whether work within the limits is approved without a person", nil},
	{"auto-max-lines", "max_lines", "how many `lines` such work may add and remove: 1 to 500", 50},
	{"auto-max-files", "max_files", "how many `files` it may touch: 1 to 50", 5},
	{"auto-deny-paths", "deny_paths", "`globs` of what it must not touch, as in infra,*.sql,db/schema", nil},
	{"auto-require-verdict", "require_verdict", "whether a verifier must have approved it", true},
}

func productSet(c *cli) *cobra.Command {
	cmd := c.command("set PRODUCT", "Make a product, or change what is named of its settings", "getProduct", "putProduct")
	takes := reflect.TypeFor[api.ProductSettings]()
	flags := cmd.Flags()
	addFlags(flags, takes, productFlags)
	verify := reflect.TypeFor[api.ProductVerifySettings]()
	addFlags(flags, verify, verifyFlags)
	auto := reflect.TypeFor[api.ProductAutoApproveSettings]()
	addFlags(flags, auto, autoApproveFlags)
	var repos repoFlags
	flags.StringSliceVar(&repos.repos, "repos", nil, "all its repositories, by `name`")
	flags.StringSliceVar(&repos.add, "add-repo", nil, "`name` of one more repository; repeatable")
	flags.StringSliceVar(&repos.drop, "drop-repo", nil, "`name` of a repository that it does not have any more; repeatable")
	var models []string
	flags.StringArrayVar(&models, "tier-model", nil,
		"have an engine use a model for jobs of a tier: `ENGINE:TIER=MODEL`, as in claude:large=opus, "+
			"or claude:large= for none; repeatable")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		server, err := c.connect()
		if err != nil {
			return err
		}
		settings, err := readSettings(cmd.Context(), server, args[0])
		if err != nil {
			return err
		}
		if flags.Changed("one-job-per-repo") && !flags.Changed("serialise") {
			delete(settings, "serialise")
		} else {
			delete(settings, "one_job_per_repo")
		}
		maps.Copy(settings, changes)
		for part, of := range map[string]settingsPart{"verify": {verify, verifyFlags}, "auto_approve": {auto, autoApproveFlags}} {
			if err := c.changePart(flags, settings, part, of); err != nil {
				return err
			}
		}
		settings["repos"] = repos.apply(settings["repos"], flags.Changed("repos"))
		if len(models) > 0 {
			if settings["models"], err = changeModels(settings["models"], models); err != nil {
				return err
			}
		}
		raw, err := json.Marshal(settings)
		if err != nil {
			return err
		}
		return answer(c, printProduct)(server.PutProductWithBody(cmd.Context(), args[0], "application/json", bytes.NewReader(raw)))
	}
	return cmd
}

// settingsPart is a part of the settings of a product that is an object of its own.
type settingsPart struct {
	takes reflect.Type
	flags []flag
}

// changePart changes what flags name of a part of the settings.
func (c *cli) changePart(flags *pflag.FlagSet, settings map[string]any, name string, of settingsPart) error {
	changes, err := c.fields(flags, of.takes, of.flags)
	if err != nil {
		return err
	}
	for _, f := range of.flags {
		if !flags.Changed(f.name) {
			delete(changes, f.field)
		}
	}
	present, _ := settings[name].(map[string]any)
	if present == nil {
		present = map[string]any{}
	}
	maps.Copy(present, changes)
	if len(present) > 0 {
		settings[name] = present
	}
	return nil
}

// changeModels returns a product's table of models with what the lines of --tier-model change.
func changeModels(present any, lines []string) (tiermodel.Table, error) {
	table := tiermodel.Table{}
	if raw, err := json.Marshal(present); err != nil || json.Unmarshal(raw, &table) != nil {
		return nil, fail(exitFailure, "the models of the product cannot be read")
	}
	table = table.Clone()
	for _, line := range lines {
		engine, tier, model, err := tiermodel.ParseLine(line)
		if err != nil {
			return nil, fail(exitUsage, "--tier-model: %w", err)
		}
		table.Set(engine, tier, model)
	}
	return table, nil
}

// readSettings returns a product's settings; none where there is no such product. They are a map, so
// that null stays null, and settings that this program does not know are sent back.
func readSettings(ctx context.Context, server *api.Client, name string) (map[string]any, error) {
	_, settings, err := readInto[map[string]any](server.GetProduct(ctx, name))
	if p, ok := errors.AsType[*api.Error](err); ok && p.Status == http.StatusNotFound {
		return map[string]any{}, nil
	}
	return settings, err
}

// repoFlags are the flags that change a product's repositories.
type repoFlags struct {
	repos, add, drop []string
}

// apply returns the repositories that a product has after the change; all replaces the present
// ones by --repos.
func (f repoFlags) apply(present any, all bool) []string {
	result := []string{}
	seen := map[string]bool{}
	for _, name := range f.drop {
		seen[name] = true
	}
	take := func(name string) {
		if !seen[name] {
			seen[name] = true
			result = append(result, name)
		}
	}
	if list, ok := present.([]any); ok && !all {
		for _, value := range list {
			if name, ok := value.(string); ok {
				take(name)
			}
		}
	}
	for _, name := range append(f.repos, f.add...) {
		take(name)
	}
	return result
}
