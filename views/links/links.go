// Package links builds the URLs of the pages. Names from people and agents
// are escaped here and nowhere else, so every path in the markup is one of
// ours.
package links

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
)

// Plain pages.
const (
	Home   = "/"
	Login  = "/login"
	Logout = "/logout"
	Theme  = "/theme"
	// PutAway takes key: the note is not shown again until what it says changes.
	PutAway = "/notes/put-away"
	Board   = "/board"
	NewJob  = "/jobs/new"
	Jobs    = "/jobs"
	Routing = "/jobs/new/routability"
	Preview = "/jobs/new/preview"
	// AgentScript is the example agent.
	AgentScript = "/agent.sh"
	JobSearch   = "/jobs/search"
	Agents      = "/agents"
	Budgets     = "/budgets"
	NewBudget   = "/budgets/new"
	Transfer    = "/budgets/transfer"
	Usage       = "/usage"
	UsageGroups = "/usage/groups.csv"
	// UsageEntries are the entries as CSV.
	UsageEntries = "/usage/entries.csv"
	// UsageFocus has the charges as FOCUS has them.
	UsageFocus   = "/usage/focus.csv"
	Prices       = "/prices"
	Stop         = "/stop"
	ReleaseFleet = "/stop/release"
	Pools        = "/pools"
	// PoolForm is that of a new pool.
	PoolForm   = "/pools/form"
	RemovePool = "/pools/remove"
	AgentPanel = "/agents/panel"
	Palette    = "/palette"
	Review     = "/review"
	NeedsYou   = "/needs-you"
	Status     = "/status"
	Recover    = "/status/recover"
	NoteLosses = "/status/losses/note"
	// APIReference is the reference of the API, APIDescription its description for programs.
	APIReference   = "/docs/api"
	APIDescription = "/api/v1/openapi.yaml"
	// LivePath is what the addresses of all streams begin with; Streams carries several of them.
	LivePath = "/live"
	Streams  = "/streams"
)

// APIGroup returns the reference of the calls about one thing.
func APIGroup(name string) string { return APIReference + "/" + url.PathEscape(name) }

// APICall returns the reference of a call of a group.
func APICall(group, id string) string { return APIGroup(group) + "#" + id }

// APISchema returns the reference of a named type.
func APISchema(name string) string { return APIReference + "/types/" + url.PathEscape(name) }

// Setup returns the page of a set-up link.
func Setup(token string) string { return "/setup/" + url.PathEscape(token) }

// LoginNext returns the log-in page that goes on to a path of ours afterwards.
func LoginNext(next string) string {
	if next == "" {
		return Login
	}
	return Login + "?next=" + url.QueryEscape(next)
}

// NewJobIn returns the form for a new job of a product.
func NewJobIn(product string) string { return with(NewJob, url.Values{"product": {product}}) }

// NewJobNamed returns the form for a new job with a title.
func NewJobNamed(title string) string { return with(NewJob, url.Values{"title": {title}}) }

// Job returns a job's page.
func Job(key string) string { return "/jobs/" + url.PathEscape(key) }

// JobMove takes to=<column> and version=<n>.
func JobMove(key string) string { return Job(key) + "/move" }

// JobRank takes to=top|up|down, or before=<key> or after=<key>.
func JobRank(key string) string { return Job(key) + "/rank" }

// JobAction takes reason and version. The action is a verb: pause, cancel.
func JobAction(key, action string) string { return Job(key) + "/" + url.PathEscape(action) }

// Drain and Undrain stop and start the claims of a factory.
func Drain(factory string) string { return "/factories/" + url.PathEscape(factory) + "/drain" }

// Undrain lets a factory claim again.
func Undrain(factory string) string { return "/factories/" + url.PathEscape(factory) + "/undrain" }

// RemoveFactory forgets a factory whose agents are dead.
func RemoveFactory(factory string) string { return "/factories/" + url.PathEscape(factory) + "/remove" }

// Terminate ends an agent; it takes reason and graceful.
func Terminate(agent string) string { return "/agents/" + url.PathEscape(agent) + "/terminate" }

// ReviewJob returns the review page at a job, on the part of the queue after a cursor.
func ReviewJob(key, after string) string {
	v := url.Values{}
	if key != "" {
		v.Set("job", key)
	}
	if after != "" {
		v.Set("after", after)
	}
	return with(Review, v)
}

// ReviewSeen returns the review page at a job as it is told of: at a version, with the commit that was
// handed in. The page says what has moved since.
func ReviewSeen(key string, version int, head string) string {
	v := url.Values{"job": {key}, "version": {strconv.Itoa(version)}}
	if head != "" {
		v.Set("head", head)
	}
	return with(Review, v)
}

// ReviewAction takes version, and what the verb needs: head, reason, commit, url.
func ReviewAction(key, action string) string {
	return Review + "/" + url.PathEscape(key) + "/" + url.PathEscape(action)
}

// ReviewComments takes a comment on a job's work, or a reply.
func ReviewComments(key string) string { return Review + "/" + url.PathEscape(key) + "/comments" }

// ReviewComment resolves a comment, or opens it again.
func ReviewComment(key, comment string) string {
	return ReviewComments(key) + "/" + url.PathEscape(comment)
}

// ReviewPatch returns the whole patch of a job's result.
func ReviewPatch(key string) string { return Review + "/" + url.PathEscape(key) + "/patch" }

// StatusBefore returns the status page with the lines of the coordinator's log that
// are older than one of them.
func StatusBefore(line int64) string {
	return with(Status, url.Values{"before": {strconv.FormatInt(line, 10)}})
}

// FactoryPlace returns the place of a factory on the agents page.
func FactoryPlace(factoryID string) string { return Agents + "#" + factoryID }

// Filter is what the board shows. The zero value shows all.
type Filter struct {
	Products, Repos, Factories, Phases []string // one of each, in order

	Query      string
	Priority   *int   // this or more
	Group      string // "" is by status
	Unroutable bool
}

// FilterLists are the names of a Filter that take several values, in the order of their menus.
var FilterLists = []string{"product", "repo", "factory", "phase"}

// List returns the list with one of the names in FilterLists.
func (f *Filter) List(name string) *[]string {
	switch name {
	case "product":
		return &f.Products
	case "repo":
		return &f.Repos
	case "factory":
		return &f.Factories
	}
	return &f.Phases
}

func (f Filter) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	for _, name := range FilterLists {
		setAll(v, name, *f.List(name))
	}
	set("q", f.Query)
	if f.Group != "status" {
		set("group", f.Group)
	}
	if f.Priority != nil {
		v.Set("priority", strconv.Itoa(*f.Priority))
	}
	if f.Unroutable {
		v.Set("show", "unroutable")
	}
	return v
}

// BoardWith returns the board with a filter.
func BoardWith(f Filter) string { return with(Board, f.values()) }

// BoardColumn returns the rest of a column after a cursor.
func BoardColumn(column, after string, f Filter) string {
	v := f.values()
	if after != "" {
		v.Set("after", after)
	}
	return with(Board+"/column/"+url.PathEscape(column), v)
}

// LiveBoard returns the board's stream. It names the filter, so that the server
// sends only what this board shows.
func LiveBoard(after string, f Filter) string {
	v := f.values()
	v.Set("on", "board")
	return live(after, v)
}

// LiveJob returns the stream of a job's page.
func LiveJob(after, key string) string {
	return live(after, url.Values{"on": {"job"}, "job": {key}})
}

// Live returns the stream of a page from a place in the log on, with what its address selects.
func Live(page, after string, query url.Values) string {
	v := url.Values{}
	for name, values := range query {
		if name == "after" { // which is the place in the log
			name = "page"
		}
		if slices.ContainsFunc(values, func(text string) bool { return text != "" }) {
			v[name] = values
		}
	}
	v.Set("on", page)
	return live(after, v)
}

// StreamQuery returns what the address of the page selects that a stream belongs to.
func StreamQuery(stream url.Values) url.Values {
	v := maps.Clone(stream)
	delete(v, "on")
	delete(v, "after")
	if page, is := v["page"]; is {
		v["after"] = page
		delete(v, "page")
	}
	return v
}

func live(after string, v url.Values) string {
	if after != "" {
		v.Set("after", after)
	}
	return with(LivePath, v)
}

func with(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// Budget returns the page of budgets with one of them at length.
func Budget(id string) string { return with(Budgets, url.Values{"budget": {id}}) }

// RaiseBudget returns the form of a raise of a budget, and what it is sent to.
func RaiseBudget(id string) string { return Budgets + "/" + url.PathEscape(id) + "/raise" }

// BudgetLedger returns the ledger of the present period of a budget: lines of a kind, "" is all.
func BudgetLedger(id, kind string) string { return BudgetLedgerFrom(id, kind, "", "") }

// BudgetLedgerFrom returns the ledger of the period that begins then ("" is the present one), from a
// cursor on ("" begins with the newest).
func BudgetLedgerFrom(id, kind, period, cursor string) string {
	q := url.Values{}
	for name, value := range map[string]string{"kind": kind, "period": period, "before": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return with(Budgets+"/"+url.PathEscape(id)+"/ledger", q)
}

// BudgetLedgerCSV returns the whole ledger of the period that begins then as CSV.
func BudgetLedgerCSV(id, period string) string {
	return with(Budgets+"/"+url.PathEscape(id)+"/ledger.csv", url.Values{"period": {period}})
}

// EditBudget returns the form of an edit of a budget, and what it is sent to.
func EditBudget(id string) string { return Budgets + "/" + url.PathEscape(id) + "/edit" }

// RaiseBudgetBy returns the form of a raise that has its values.
func RaiseBudgetBy(id, usd, reason string) string {
	return with(RaiseBudget(id), url.Values{"amount_usd": {usd}, "reason": {reason}})
}

// EditBudgetWith returns the form of an edit with one of its boxes ticked, at that box.
func EditBudgetWith(id, box string) string {
	return with(EditBudget(id), url.Values{box: {"1"}}) + "#" + box
}

// FilledTransfer returns the form of a transfer that has its values.
func FilledTransfer(from, to, usd, reason string) string {
	return with(Transfer, url.Values{"from": {from}, "to": {to}, "amount_usd": {usd}, "reason": {reason}})
}

// TransferFrom returns the form of a transfer from a budget.
func TransferFrom(id string) string { return with(Transfer, url.Values{"from": {id}}) }

// TransferTo returns the form of a transfer to a budget.
func TransferTo(id string) string { return with(Transfer, url.Values{"to": {id}}) }

// Pool is a pool at length.
func Pool(name string) string { return Pools + "?pool=" + url.QueryEscape(name) }

// EditPool is the form of a pool.
func EditPool(name string) string { return PoolForm + "?pool=" + url.QueryEscape(name) }

// StopBudget takes that a budget stays used up.
func StopBudget(id string) string { return Budgets + "/" + url.PathEscape(id) + "/stop" }

// RemoveBudget removes a budget.
func RemoveBudget(id string) string { return Budgets + "/" + url.PathEscape(id) + "/remove" }

// UndoBudget takes a line of a budget back.
func UndoBudget(id string) string { return Budgets + "/" + url.PathEscape(id) + "/undo" }
