package cli

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// verb is a command that makes a call and prints its answer.
type verb struct {
	// group is the command below which it stands, "" for fleet itself.
	group string
	// use is its name and its arguments: [X] may be left out, X… stands for one or more.
	use string
	// help is a line, and what more is to be said below it.
	help string
	// calls are the operations of the API that it may call.
	calls string
	flags []flag
	call  call
}

// verbs are the commands that do no more than call and print.
var verbs = []verb{
	{"", "stops", "List what is stopped", "listStops", nil, showAll((*api.Client).ListStops, printStops)},

	{"coordinator", "status", "Show who coordinates, the servers that live, and what the database lacks", "getCoordinatorStatus", nil,
		showAll((*api.Client).GetCoordinatorStatus, printCoordinator)},
	{"coordinator", "note-losses", "Say that what the database lacks of the log is known", "noteLosses", nil,
		showAll((*api.Client).NoteLosses, printNoted)},

	{"notifications", "show", "Show what you are told of", "getNotifications", nil,
		showAll((*api.Client).GetNotifications, printNotifications)},
	{"notifications", "test", "Send yourself a message on every channel that is on", "testNotifications", nil,
		showAll((*api.Client).TestNotifications, printNotificationTest)},
	{"notifications", "browsers", "List the browsers that show your messages", "listBrowsers", nil,
		showAll((*api.Client).ListBrowsers, printBrowsers)},
	{"notifications", "forget BROWSER…", "Have browsers show no more messages", "removeBrowser", nil,
		doEach("The browser %s shows no more messages.\n", (*api.Client).RemoveBrowser)},

	{"dispatch", "show", "Show how jobs are given out", "getDispatch", nil, showAll((*api.Client).GetDispatch, printDispatch)},

	{"dispatch", "divergence", "Count how often the factory that got a job was not the best one", "getDivergence",
		[]flag{{"since", "since", "from this `time` on, as 7d; a day by default", nil}},
		listAll((*api.Client).GetDivergence, printDivergence)},

	{"dispatch", "dead", "List offers of jobs that their factories were told of and did not take", "listDeadOffers", nil,
		listAll((*api.Client).ListDeadOffers, printDeadOffers)},

	{"job", "decisions JOB", "Say why which factory got a job", "listDecisions", nil, showOne((*api.Client).ListDecisions, printDecisions)},
	{"job", "verifications JOB", "List the verifications of a job's work with their verdicts, the newest first", "listVerifications",
		[]flag{{"limit", "limit", "how many at most, 1 to 20", 20}, pages[1]},
		listBelow((*api.Client).ListVerifications, printVerifications)},
	{"job", "comments JOB", "List the comments on lines of a job's work", "listComments", pages,
		listBelow((*api.Client).ListComments, printComments)},
	{"job", "resolve COMMENT…", "Say that comments are resolved", "editComment", nil, resolveEach(true)},
	{"job", "reopen COMMENT…", "Open resolved comments again", "editComment", nil, resolveEach(false)},
	{"job", "explain JOB", "Say why a job does not run", "explainJob", nil, showOne((*api.Client).ExplainJob, printExplanation)},
	{"job", "collisions JOB", "List the jobs at work that touch the same files", "listJobCollisions", nil,
		showOne((*api.Client).ListJobCollisions, printCollisions)},
	{"job", "stats", "Count jobs by status and product", "getStats", nil, showAll((*api.Client).GetStats, printStats)},

	{"backlog", "stats", "Count jobs by status and product", "getStats", nil, showAll((*api.Client).GetStats, printStats)},

	{"product", "list", "List the products", "listProducts", pages, listAll((*api.Client).ListProducts, printProducts)},
	{"product", "show PRODUCT", "Show a product", "getProduct", nil, showOne((*api.Client).GetProduct, printProduct)},
	{"product", "preview PRODUCT", "Show what the policy would have approved in the last 30 days", "previewAutoApprove",
		[]flag{
			{"max-lines", "max_lines", "with at most so many `lines`", nil},
			{"max-files", "max_files", "in at most so many `files`", nil},
			{"require-verdict", "require_verdict", "whether a verifier must have approved it", nil},
			{"deny-paths", "deny_paths", "`globs` of what it must not touch", nil},
		},
		listBelow((*api.Client).PreviewAutoApprove, printAutoApprovePreview)},
	{"product", "remove PRODUCT…", "Take away products that have no jobs", "deleteProduct", nil,
		doEach("The product %s is gone.\n", (*api.Client).DeleteProduct)},

	{"factory", "list", "List the factories", "listFactories", pages, listAll((*api.Client).ListFactories, printFactories)},
	{"factory", "show FACTORY", "Show a factory and its agents", "getFactory", nil,
		showOne((*api.Client).GetFactory, printFactory)},
	{"factory", "drain FACTORY…", "Give factories no new jobs; present ones may end", "drainFactory", nil,
		showEach((*api.Client).DrainFactory, printDrained)},
	{"factory", "undrain FACTORY…", "Give drained factories jobs again", "undrainFactory", nil,
		showEach((*api.Client).UndrainFactory, printDrained)},
	{"factory", "remove FACTORY…", "Forget factories whose agents are all dead", "removeFactory", nil,
		doEach("The factory %s is gone.\n", (*api.Client).RemoveFactory)},

	{"issuer", "list", "List the issuers whose tokens register agents", "listIssuers", nil,
		showAll((*api.Client).ListIssuers, printIssuers)},
	{"issuer", "show ISSUER", "Show a trusted issuer", "getIssuer", nil, showOne((*api.Client).GetIssuer, printIssuer)},
	{"issuer", "remove ISSUER…", "Trust issuers no longer; their agents are cut off", "deleteIssuer", nil,
		doEach("The issuer %s is trusted no longer.\n", (*api.Client).DeleteIssuer)},

	{"pool", "list", "List the pools", "listPools", nil, showAll((*api.Client).ListPools, printPools)},
	{"pool", "show POOL", "Show a pool", "getPool", nil, showOne((*api.Client).GetPool, printPool)},
	{"pool", "demand POOL", "Say how many factories a pool needs now", "getPoolDemand", nil,
		showOne((*api.Client).GetPoolDemand, printDemand)},
	{"pool", "history POOL", "List the factories that were started for a pool", "getPoolHistory", nil,
		showOne((*api.Client).GetPoolHistory, printPoolHistory)},
	{"pool", "remove POOL…", "Take pools away; their factories go on", "deletePool", nil,
		doEach("The pool %s is gone.\n", (*api.Client).DeletePool)},

	{"webhook", "list", "List the webhooks", "listWebhooks", nil, showAll((*api.Client).ListWebhooks, printWebhooks)},
	{"webhook", "deliveries ID", "List what was sent to a webhook, the newest first", "listWebhookDeliveries",
		slices.Concat([]flag{{"status", "status", "with this `status`: pending, delivered, failed or skipped", nil}}, pages),
		listBelow((*api.Client).ListWebhookDeliveries, printWebhookDeliveries)},
	{"webhook", "test ID", "Send a message to a webhook, once", "testWebhook", nil,
		showOne((*api.Client).TestWebhook, printWebhookDelivery)},
	{"webhook", "redeliver DELIVERY…", "Send deliveries once more", "redeliver", nil,
		showEach((*api.Client).Redeliver, printWebhookDelivery)},
	{"webhook", "remove ID…", "Take webhooks away, with their deliveries", "deleteWebhook", nil,
		doEach("The webhook %s is gone.\n", (*api.Client).DeleteWebhook)},

	{"agent", "list", "List the agents", "listAgents", slices.Concat(agentFilters, pages),
		listAll((*api.Client).ListAgents, printAgents)},
	{"agent", "show AGENT", "Show an agent", "getAgent", nil, showOne((*api.Client).GetAgent, printAgent)},
	{"agent", "jobs AGENT", "List the jobs that an agent holds now", "listAgentJobs", pages,
		listBelow((*api.Client).ListAgentJobs, printJobs)},

	{"budget", "list", "List the budgets and how they stand", "listBudgets", nil,
		showAll((*api.Client).ListBudgets, printBudgets)},
	{"budget", "show BUDGET", "Show a budget, by name or id", "listBudgets getBudget", nil, showOne(getBudget, printBudget)},

	{"msg", "inbox", "Show what is in your inbox, without taking it out", "readMessages",
		[]flag{{"type", "types", "of this `type`; repeatable", nil}, {"", "peek", "", true},
			{"limit", "limit", "how many at most, 1 to 100", 50}},
		listAll((*api.Client).ReadMessages, printInbox)},
	{"msg", "thread NAME", "Show a thread; that of a job has the job's key", "readThread", []flag{{"", "limit", "", 200}},
		listBelow((*api.Client).ReadThread, printMessages)},

	{"msg", "search WORDS...", "Find messages by their words\n" +
		"Finds messages that have all the words; words in quotes stand together, the last one may be the beginning of a word.",
		"searchMessages", []flag{{"type", "type", "of this `type`", nil}, {"from", "from", "from the sender of this `name`", nil},
			{"job", "job", "about this `job`", nil}}, search("q", (*api.Client).SearchMessages, printFound)},

	{"bus", "archives", "List the archives of messages that were dropped after 90 days\n" +
		"Lists the archives of messages that were dropped, the newest first. `fleet blob get BLOB | zcat` prints one, a JSON\n" +
		"object in each line. An archive is kept for a year.",
		"listArchives", []flag{{"", "limit", "", 200}}, listAll((*api.Client).ListArchives, printArchives)},
	{"bus", "exports", "List the exports and their positions", "listExports", nil,
		showAll((*api.Client).ListExports, printExports)},

	{"dead", "list", "List messages that an inbox gave up", "listDeadLetters", nil,
		listAll((*api.Client).ListDeadLetters, printDeadLetters)},
	{"dead", "redrive ID...", "Hand dead letters out again", "redriveDeadLetter", nil, doEach("", (*api.Client).RedriveDeadLetter)},
	{"dead", "discard ID...", "Remove dead letters", "discardDeadLetter", nil,
		doEach("The dead letter of %s is gone.\n", (*api.Client).DiscardDeadLetter)},
}

// Flags of several verbs.
var (
	pages = []flag{
		{"limit", "limit", "how many at most, 1 to 200", 50},
		{"cursor", "cursor", "go on where the page before ended: its next_`cursor`", nil},
	}
	agentFilters = []flag{
		{"factory", "factory", "of the factory with this `name`", nil},
		{"health", "health", "with this `health`: healthy, warn, stale, dead or ended", nil},
		{"product", "product", "that may work for the product with this `name`", nil},
		{"status", "status", "that last said this `status`: idle, working or blocked", nil},
	}
	usageFlags = []flag{
		{"by", "group_by", "`what` to group by: product, phase, repo, model, provider, agent, factory, job, day, hour or purpose",
			"product"},
		{"since", "from", "from this `time` on, as 7d; 30 days by default", nil},
		{"until", "to", "up to this `time`", nil},
		{"product", "product", "of this product, by `name`", nil},
		{"repo", "repo", "of this repository, by `name`", nil},
		{"model", "model", "of this model, by `name`", nil},
		{"agent", "agent", "of this agent, by `name`", nil},
		{"factory", "factory", "of this factory, by `name`", nil},
		{"job", "job", "of this `job`", nil},
		{"limit", "limit", "how many groups, 1 to 1000", 100},
	}
)

// call is what a verb does.
type call struct {
	takes reflect.Type // has the fields that flags set
	do    func(ctx context.Context, r request) error
}

// request is a verb that is carried out.
type request struct {
	c      *cli
	to     *api.Client
	args   []string
	fields map[string]any // that flags set
}

// Calls of the API by what they take: nothing, a name, fields, or fields below a name.
type (
	editor           = api.RequestEditorFn // the last parameter of all calls; nothing passes one
	ask              = func(server *api.Client, ctx context.Context, _ ...editor) (*http.Response, error)
	askName          = func(server *api.Client, ctx context.Context, name string, _ ...editor) (*http.Response, error)
	askFields[P any] = func(server *api.Client, ctx context.Context, fields *P, _ ...editor) (*http.Response, error)
	askBelow[P any]  = func(server *api.Client, ctx context.Context, name string, fields *P, _ ...editor) (*http.Response, error)
	printer[T any]   = func(s *screen, w io.Writer, reply T)
)

// showAll calls what takes nothing.
func showAll[T any](ask ask, show printer[T]) call {
	return call{nil, func(ctx context.Context, r request) error { return answer(r.c, show)(ask(r.to, ctx)) }}
}

// showOne calls what takes a name.
func showOne[T any](ask askName, show printer[T]) call {
	return call{nil, func(ctx context.Context, r request) error { return answer(r.c, show)(ask(r.to, ctx, r.args[0])) }}
}

// listAll calls what takes the fields P.
func listAll[P, T any](ask askFields[P], show printer[T]) call {
	return listBelow(func(server *api.Client, ctx context.Context, _ string, p *P, _ ...editor) (*http.Response, error) {
		return ask(server, ctx, p)
	}, show)
}

// search is listAll with the arguments as a field.
func search[P, T any](field string, ask askFields[P], show printer[T]) call {
	found := listAll(ask, show)
	return call{found.takes, func(ctx context.Context, r request) error {
		r.fields[field] = strings.Join(r.args, " ")
		return found.do(ctx, r)
	}}
}

// listBelow calls what takes a name and the fields P.
func listBelow[P, T any](ask askBelow[P], show printer[T]) call {
	return call{reflect.TypeFor[P](), func(ctx context.Context, r request) error {
		p, err := parameters[P](r.fields)
		if err != nil {
			return err
		}
		return answer(r.c, show)(ask(r.to, ctx, strings.Join(r.args, ""), p))
	}}
}

// showEach calls what takes a name, for every argument.
func showEach[T any](ask askName, show printer[T]) call {
	return call{nil, func(ctx context.Context, r request) error {
		return r.c.forEach(r.args, func(name string) error { return answer(r.c, show)(ask(r.to, ctx, name)) })
	}}
}

// doEach calls what takes a name, for every argument, and says what is done.
func doEach(done string, ask askName) call {
	return call{nil, func(ctx context.Context, r request) error {
		return r.c.forEach(r.args, func(name string) error {
			_, err := read(ask(r.to, ctx, name))
			if err == nil && done != "" {
				r.c.say(done, cleanLine(name))
			}
			return err
		})
	}}
}

// verbsBelow makes the commands of the verbs of a group.
func (c *cli) verbsBelow(group string) (all []*cobra.Command) {
	for _, v := range verbs {
		if v.group == group {
			all = append(all, v.command(c))
		}
	}
	return all
}

func (v verb) command(c *cli) *cobra.Command {
	short, long, _ := strings.Cut(v.help, "\n")
	cmd := c.command(v.use, short, v.calls)
	cmd.Long = long
	if v.call.takes != nil {
		addFlags(cmd.Flags(), v.call.takes, v.flags)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := c.fields(cmd.Flags(), v.call.takes, v.flags)
		if err != nil {
			return err
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		return v.call.do(cmd.Context(), request{c, server, args, fields})
	}
	return cmd
}

// command returns a command that does nothing yet. Its use says how many arguments it takes and what
// a shell completes them with.
func (c *cli) command(use, short string, operations ...string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Annotations: calls(operations...), Args: arguments(use)}
	switch cmd.Name() {
	case "list":
		cmd.Aliases = []string{"ls"}
	case "remove":
		cmd.Aliases = []string{"rm"}
	}
	var find names
	most := 0
	for _, argument := range strings.Fields(use)[1:] {
		known := argumentNames[strings.Trim(argument, "[].…")]
		if known == nil {
			break
		}
		find = known
		if most++; isRepeated(argument) {
			most = 0
		}
	}
	if find != nil {
		cmd.ValidArgsFunction = c.complete(find, most)
	}
	return cmd
}

// argumentNames find what a shell completes arguments with.
var argumentNames = map[string]names{"JOB": jobKeys(), "OTHER": jobKeys(), "PRODUCT": productNames, "FACTORY": factoryNames,
	"AGENT": agentNames, "BUDGET": budgetNames, "FROM": budgetNames, "TO": budgetNames}

func isRepeated(word string) bool {
	return strings.HasSuffix(word, "…") || strings.HasSuffix(word, "...")
}

// arguments returns the check of the arguments that a use names.
func arguments(use string) cobra.PositionalArgs {
	words := strings.Fields(use)[1:]
	switch n := len(words); {
	case n == 0:
		return cobra.NoArgs
	case isRepeated(words[n-1]):
		return cobra.MinimumNArgs(n)
	case strings.HasPrefix(words[0], "["):
		return cobra.MaximumNArgs(n)
	default:
		return cobra.ExactArgs(n)
	}
}
