package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
)

const (
	// completionTime bounds how long a shell waits for names.
	completionTime = time.Second
	// mostCompletions is how many names a shell is given.
	mostCompletions = 100
)

// choice is a name that a shell may complete to, and what it says beside it.
type choice struct{ name, about string }

// names finds the names that there are. begun is what was typed already.
type names func(ctx context.Context, server *api.Client, begun string) ([]choice, error)

// complete gives a shell the names for the first most arguments; 0 is all of them. Where
// the server is away or slow, there are none.
func (c *cli) complete(ask names, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var free []cobra.Completion
		for _, one := range c.choices(cmd.Context(), ask, begun) {
			name := cleanLine(one.name)
			if name == one.name && !strings.ContainsAny(name, " \t\\'\"$`") && strings.HasPrefix(name, begun) && !has(args, name) {
				free = append(free, cobra.CompletionWithDesc(name, cut(cleanLine(one.about), 60)))
			}
		}
		return free, cobra.ShellCompDirectiveNoFileComp
	}
}

func has(args []string, name string) bool {
	for _, one := range args {
		if one == name {
			return true
		}
	}
	return false
}

// choices queries the server, once and briefly.
func (c *cli) choices(ctx context.Context, ask names, begun string) []choice {
	at, err := c.target()
	if err != nil || at.token == "" {
		return nil
	}
	server, err := client.New(at.server, at.token, api.Options{})
	if err != nil {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	found, err := ask(ctx, server, begun)
	if err != nil {
		return nil
	}
	return found
}

// jobKeys returns the keys of jobs in some statuses, or in all, those changed last first.
func jobKeys(statuses ...api.JobStatus) names {
	return func(ctx context.Context, server *api.Client, begun string) ([]choice, error) {
		most, order := mostCompletions, api.ListJobsParamsSort("updated")
		params := &api.ListJobsParams{Q: some(begun), Sort: &order, Limit: &most,
			Fields: &[]api.JobField{"key", "title", "status"}}
		if len(statuses) > 0 {
			params.Status = &statuses
		}
		_, said, err := readInto[api.JobPage](server.ListJobs(ctx, params))
		var found []choice
		for _, job := range said.Items {
			found = append(found, choice{job.Key, words(string(job.Status)) + ": " + job.Title})
		}
		return found, err
	}
}

func factoryNames(ctx context.Context, server *api.Client, _ string) ([]choice, error) {
	most := mostCompletions
	_, said, err := readInto[api.FactoryPage](server.ListFactories(ctx, &api.ListFactoriesParams{Limit: &most}))
	var found []choice
	for _, one := range said.Items {
		found = append(found, choice{one.Name, words(string(one.Health))})
	}
	return found, err
}

func agentNames(ctx context.Context, server *api.Client, _ string) ([]choice, error) {
	most := mostCompletions
	_, said, err := readInto[api.AgentPage](server.ListAgents(ctx, &api.ListAgentsParams{Limit: &most}))
	var found []choice
	for _, one := range said.Items {
		found = append(found, choice{one.Name, words(string(one.Health))})
	}
	return found, err
}

func productNames(ctx context.Context, server *api.Client, _ string) ([]choice, error) {
	most := mostCompletions
	_, said, err := readInto[api.ProductPage](server.ListProducts(ctx, &api.ListProductsParams{Limit: &most}))
	var found []choice
	for _, one := range said.Items {
		found = append(found, choice{one.Name, strings.Join(one.Repos, ", ")})
	}
	return found, err
}

// repoNames returns the repositories of products and of factories.
func repoNames(ctx context.Context, server *api.Client, _ string) ([]choice, error) {
	most := mostCompletions
	_, products, err := readInto[api.ProductPage](server.ListProducts(ctx, &api.ListProductsParams{Limit: &most}))
	if err != nil {
		return nil, err
	}
	var found []choice
	seen := map[string]bool{}
	take := func(name, about string) {
		if !seen[name] {
			seen[name] = true
			found = append(found, choice{name, about})
		}
	}
	for _, one := range products.Items {
		for _, repo := range one.Repos {
			take(repo, "of "+one.Name)
		}
	}
	_, factories, err := readInto[api.FactoryPage](server.ListFactories(ctx, &api.ListFactoriesParams{Limit: &most}))
	for _, one := range factories.Items {
		for _, repo := range one.Repos {
			take(repo.Name, "on "+one.Name)
		}
	}
	return found, err
}

func budgetNames(ctx context.Context, server *api.Client, _ string) ([]choice, error) {
	_, said, err := readInto[api.BudgetList](server.ListBudgets(ctx))
	var found []choice
	for _, one := range said.Items {
		found = append(found, choice{one.ID, one.Name})
	}
	return found, err
}

// completeFlags lets a shell complete the values of flags that name something.
func (c *cli) completeFlags(cmd *cobra.Command) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		var ask names
		switch f.Name {
		case "repo", "add-repo", "drop-repo", "repos":
			ask = repoNames
		case "product":
			ask = productNames
		case "factory":
			ask = factoryNames
		case "agent":
			ask = agentNames
		case "job", "depends-on", "id", "from", "to":
			ask = jobKeys()
		default:
			return
		}
		if cmd.Name() == "create" && (f.Name == "id" || f.Name == "from") {
			return
		}
		// An error says that the flag has a completion already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, c.complete(ask, 0))
	})
	if f := cmd.LocalNonPersistentFlags().Lookup("status"); f != nil && cmd.Parent() != nil && cmd.Parent().Name() != "agent" {
		_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statuses, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, below := range cmd.Commands() {
		c.completeFlags(below)
	}
}
