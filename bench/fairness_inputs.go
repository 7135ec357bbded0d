package main

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// credential is which of the tokens of the one credential makes a call.
type credential int

const (
	asOwner credential = iota
	asAgent
	asEnrolment
)

// named are the names of what calls are about.
type named struct {
	filled, spent                        int
	wide, budget, another, message, blob string
	webhook                              string
	position                             string // of the export
	leases                               []lease
}

// worst is a call of the API with its worst legal input. In its path and its body {n} is
// the number of the call, {job} another one of many jobs each time.
type worst struct {
	what         string
	as           credential
	method, path string
	body         []byte
	bytes        bool   // it carries bytes that are no JSON, or goes on for ever
	accept       string // for those
	filled       int
}

// next returns the call for the nth time.
func (in worst) next(n int64) (path string, body []byte) {
	number, job := strconv.FormatInt(n, 10), fmt.Sprint("L-", 1+n%int64(max(in.filled, 1)))
	path = "/api/v1" + strings.NewReplacer("{n}", number, "{job}", job).Replace(in.path)
	if body = in.body; bytes.Contains(body, []byte("{n}")) {
		body = bytes.ReplaceAll(body, []byte("{n}"), []byte(number))
	}
	return path, body
}

// worstInputs returns all calls of the API by their operations' names.
func worstInputs(n *named) map[string]worst {
	all := map[string]worst{}
	for _, table := range []map[string]worst{
		jobInputs(n), jobActionInputs(), fleetInputs(n), agentInputs(), moneyInputs(n), messageInputs(n), otherInputs(n),
	} {
		for name, in := range table {
			in.filled = n.filled
			all[name] = in
		}
	}
	return all
}

// text returns a JSON string of about so many bytes.
func text(size int) string { return `"` + strings.Repeat("word and ", size/9) + `"` }

// list is so many times an item, in which {i} is its number, from 1 on.
func list(n int, item string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(item, "{i}", strconv.Itoa(i+1))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// times returns a query of so many parameters.
func times(n int, parameter string) string {
	return strings.TrimSuffix(strings.Join(strings.Split(strings.Trim(list(n, parameter), "[]"), ","), "&"), "&")
}

// yearAgo returns the earliest beginning of a report that ends now.
func yearAgo() string { return time.Now().UTC().AddDate(0, 0, -365).Format(time.RFC3339) }

func get(what, path string) worst { return worst{what: what, method: "GET", path: path} }

func send(what, method, path, body string) worst {
	return worst{what: what, method: method, path: path, body: []byte(body)}
}

func (in worst) by(who credential) worst {
	in.as = who
	return in
}

func jobInputs(n *named) map[string]worst {
	search := url.QueryEscape("a b c d e f g h i j k l m n o p q r s t u v w x y z word invoice cents integer show wide line branch go")
	return map[string]worst{
		"createJob": send("body of 50 KB", "POST", "/jobs", `{"title":"A job {n}","body":`+text(50_000)+`}`),
		"createJobs": send("1,000 jobs, 200 KB", "POST", "/jobs/batch", `{"jobs":`+list(1000,
			`{"title":"A job {i} of {n} with words","body":"about some other words, word{i} and more",`+
				`"capabilities":["nobody:0"],"tags":["a"]}`)+`}`),
		"bulkJobs": send("500 jobs, paused", "POST", "/jobs/bulk", `{"action":"pause","jobs":`+list(500, `"L-{i}"`)+`}`),
		"listJobs": get("200 jobs, all fields, words, 12 statuses, 200 keys",
			"/jobs?limit=200&q=invoice+cents&sort=updated&"+times(200, "key=L-{i}")+"&status=ready&status=waiting&status=completed"),
		"searchJobs":      get("200 letters, 45 words", "/search/jobs?limit=50&q="+search),
		"getJob":          get("job with 100 dependencies and 90 KB", "/jobs/"+n.wide),
		"patchJob":        send("body of 60 KB", "PATCH", "/jobs/"+n.wide, `{"version":{n},"body":`+text(60_000)+`}`),
		"deleteJob":       send("a job each", "DELETE", "/jobs/{job}", ``),
		"getDependencies": get("100 dependencies", "/jobs/"+n.wide+"/dependencies"),
		"linkJob":         send("a link each", "POST", "/jobs/"+n.wide+"/dependencies", `{"depends_on":"L-{n}"}`),
		"unlinkJob":       send("a link each", "DELETE", "/jobs/"+n.wide+"/dependencies/{job}", ``),
		"listJobLogs":     get("200 of 20,000 lines", "/jobs/"+n.leases[0].key+"/logs?limit=200"),
		"listSteps":       get("200 of 500 steps", fmt.Sprint("/jobs/", n.leases[0].key, "/attempts/", n.leases[0].epoch, "/steps?limit=200")),
		"streamSteps": {
			what: "500 steps, again and again", method: "GET",
			path:  fmt.Sprint("/jobs/", n.leases[0].key, "/attempts/", n.leases[0].epoch, "/steps/stream?after="),
			bytes: true, accept: "text/event-stream",
		},
		"listDecisions":     get("none", "/jobs/{job}/decisions"),
		"listVerifications": get("none", "/jobs/{job}/verifications"),
		"listComments":      get("none", "/jobs/{job}/comments"),
		"addComment": send("2,000 characters", "POST", "/jobs/{job}/comments",
			`{"commit":"x","path":"a.go","text":`+text(1_900)+`}`),
		"editComment": send("2,000 characters", "PATCH", "/comments/0190a7c2-7c1b-7d6e-9d2f-3b1c5a6d7e8f",
			`{"text":`+text(1_900)+`}`),
		"listAttempts":      get("200 attempts", "/jobs/{job}/attempts?limit=200"),
		"listJobEvents":     get("200 events", "/jobs/"+n.wide+"/events?limit=200"),
		"listJobCollisions": get("job with 100 dependencies", "/jobs/"+n.wide+"/collisions"),
		"explainJob":        get("job with 100 dependencies", "/jobs/"+n.wide+"/explanation"),
		"estimateJob":       get("a job each", "/jobs/{job}/estimate"),
		"previewEstimate": send("all filters", "POST", "/estimates",
			`{"kind":"code","product":"default","estimated_minutes":100,"priority":5}`),
		"previewRoutability": send("64 capabilities", "POST", "/routability",
			`{"product":"default","capabilities":`+list(32, `"bench:{i}"`)+`}`),
		"getStats":      get("all", "/stats"),
		"reclaimLeases": send("all", "POST", "/reclaim", `{}`),
		"answerJob":     send("10 KB", "POST", "/jobs/{job}/answer", `{"answer":`+text(9_900)+`}`),
	}
}

// jobActionInputs returns what people do to a job, each time to another one.
func jobActionInputs() map[string]worst {
	action := func(path, body string) worst { return send("a job each", "POST", "/jobs/{job}/"+path, body) }
	const reason = `{"reason":"so"}`
	return map[string]worst{
		"blockJob":   action("block", reason),
		"unblockJob": action("unblock", `{}`),
		"rankJob":    send("a job each, cleared", "PUT", "/jobs/{job}/rank", `{}`),
		"pauseJob":   action("pause", `{}`),
		"resumeJob":  action("resume", `{}`),
		"cancelJob":  action("cancel", reason),
		"finishJob":  action("complete", `{"reason":`+text(1000)+`}`),
		"retryJob":   action("retry", `{}`),
		"approveJob": action("approve", `{}`),
		"rejectJob":  action("reject", reason),
		"mergeJob":   action("merge", `{}`),
		"archiveJob": action("archive", `{}`),
		"releaseJob": action("release", reason),
		"failMerge":  action("merge-failed", reason),
	}
}

func fleetInputs(n *named) map[string]worst {
	// What ends a lease has one of its own: it is refused after the first time.
	report := func(what, path, more string) worst {
		l := n.leases[2]
		if strings.Contains(what, "after the first") {
			l = n.leases[1]
		}
		return send(what, "POST", "/fleet/"+path, fmt.Sprintf(`{"job":%q,"epoch":%d%s}`, l.key, l.epoch, more)).by(asAgent)
	}
	var held, items []string
	for i, l := range n.leases[2:] {
		held = append(held, fmt.Sprintf(`{"job":%q,"epoch":%d,"progress_percent":%d,"current_step":"step {n}"}`, l.key, l.epoch, i))
		items = append(items, fmt.Sprintf(`{"verb":"progress","job":%q,"epoch":%d,"current_step":"step {n}"}`, l.key, l.epoch))
	}
	entry := `{"id":"{n}-{i}","provider":"anthropic","model":"claude-haiku-4-5","at":"` + time.Now().UTC().Format(time.RFC3339) +
		`","input_tokens":1000,"output_tokens":10}`
	return map[string]worst{
		"claimJobs":      send("50 jobs", "POST", "/fleet/claim", `{"max":50}`).by(asAgent),
		"startJob":       report("the same", "start", ``),
		"reportProgress": report("200 entries of usage", "progress", `,"current_step":"step {n}","usage":`+list(200, entry)),
		"renewLease":     report("the same", "renew", ``),
		"completeJob":    report("20 KB, refused after the first", "complete", `,"summary":`+text(3000)),
		"failJob":        report("20 KB, refused after the first", "fail", `,"error":`+text(1500)),
		"releaseLease":   report("refused after the first", "release", `,"reason":"so"`),
		"askQuestion":    report("refused after the first", "ask", `,"question":"Which?"`),
		"writeLogs":      send("1,000 lines, 1 MB", "POST", "/fleet/logs", string(logLines(n.leases[2], 0, 1000, 1000))).by(asAgent),
		"writeSteps":     report("500 steps, 1 MB, known after the first", "steps", string(makeSteps(500, 2000))),
		"reportUsage":    report("200 entries", "usage", `,"entries":`+list(200, entry)),
		"reportDelivery": report("the same, refused in 2,000 characters", "delivery",
			`,"state":"refused","branch":"b","commit":"c","detail":"`+strings.Repeat("x", 2000)+`"`),
		"followPullRequest": report("refused: no merge", "follow", `,"url":"https://example.org/1","number":1,"branch":"b"`),
		"endAgent":          send("refused: another agent", "POST", "/agents/spare-1/end", ``).by(asAgent),
		"listEndedBranches": send("500 jobs", "POST", "/branches/ended",
			`{"repo":"repo","jobs":`+list(500, `"FB-{i}"`)+`}`).by(asAgent),
		"checkBudget": report("the same", "budget", `,"at":"checkpoint"`),
		"reportBatch": send("58 reports of progress", "POST", "/fleet/batch",
			`{"items":[`+strings.Join(items, ",")+`]}`).by(asAgent),
		"getFactoryCredentials": get("none", "/fleet/credentials").by(asAgent),
		"getQueueState":         get("all lanes", "/fleet/queue-state").by(asAgent),
		"heartbeat": send("58 leases", "POST", fmt.Sprint("/agents/", agentName(fairnessAttacker), "/heartbeat"),
			`{"boot_id":"`+bootID+`","status":"working","leases":[`+strings.Join(held, ",")+`]}`).by(asAgent),
	}
}

func agentInputs() map[string]worst {
	const mine = "/agents/agent-900"
	return map[string]worst{
		"registerAgent": send("200 repos, 64 capabilities", "PUT", "/agents/spare-{n}",
			`{"boot_id":"b","capabilities":`+list(32, `"bench:{i}"`)+`,"factory":{"name":"spare","seats":10,"repos":`+
				list(200, `{"name":"repo-{i}","url":"https://example.org/repo-{i}"}`)+`}}`).by(asEnrolment),
		"listAgents":        get("200 agents", "/agents?limit=200"),
		"getAgent":          get("one", mine),
		"getAgentHealth":    get("one", mine+"/health"),
		"listAgentJobs":     get("200 jobs", mine+"/jobs?limit=200"),
		"listAgentAttempts": get("200 attempts", "/agents/agent-0/attempts?limit=200"),
		"terminateAgent":    send("one, again", "POST", "/agents/spare-1/terminate", `{"reason":"so"}`),
		"listFactories":     get("200 factories", "/factories?limit=200"),
		"getFactory":        get("one", "/factories/spare"),
		"removeFactory":     send("refused", "DELETE", "/factories/spare", ``),
		"getDispatch":       get("all", "/dispatch"),
		"listDeadOffers":    get("none", "/dispatch/dead?limit=200"),
		"getDivergence":     get("all", "/dispatch/divergence?since=2020-01-01T00:00:00Z"),
		"putDispatch":       send("a product's weight, again", "PUT", "/dispatch", `{"product_weights":{"spare":5}}`),
		"getNotifications":  get("all", "/me/notifications"),
		"putNotifications":  send("a digest, again", "PUT", "/me/notifications", `{"digest_minutes":5}`),
		"testNotifications": send("no channel", "POST", "/me/notifications/test", ``),
		"listBrowsers":      get("none", "/me/notifications/browsers"),
		"addBrowser": send("refused", "POST", "/me/notifications/browsers",
			`{"endpoint":"http://x","keys":{"p256dh":"","auth":""}}`),
		"removeBrowser": send("none that is there", "DELETE", "/me/notifications/browsers/0190b5a2-7c00-7000-8000-000000000000", ``),
		"listStops":     get("all", "/stop"),
		"stopFleet": send("a product, another reason each time", "POST", "/stop",
			`{"reason":"reason {n}","hold":"all","products":["spare"]}`),
		"releaseFleet": send("all that is stopped", "POST", "/stop/release", `{}`),
		"listIssuers":  get("all", "/issuers"),
		"getIssuer":    get("none that is there", "/issuers/x"),
		"putIssuer": send("20 claims", "PUT", "/issuers/x{n}", `{"url":"https://id.example.com","audience":"x","claims":[`+
			issuerClaims+`]}`),
		"deleteIssuer": send("none that is there", "DELETE", "/issuers/x{n}", ``),
		"enrolWorkload": send("an issuer that nobody trusts", "POST", "/enrolments", `{"issuer":"00000000-0000-7000-8000-000000000000",`+
			`"token":"a.b.c","agent":"x","registration":{"boot_id":"b","factory":{"name":"x"}}}`),
		"listPools": get("all", "/pools"),
		"getPool":   get("none that is there", "/pools/spare"),
		"putPool": send("200 repos, 64 capabilities", "PUT", "/pools/spare", `{"max":10,"min_idle":{n},"offers":{"capabilities":`+
			list(64, `"bench:{i}"`)+`,"repos":`+list(200, `"repo-{i}"`)+`}}`),
		"deletePool":           send("none that is there", "DELETE", "/pools/x{n}", ``),
		"getPoolDemand":        get("one", "/pools/spare/demand"),
		"getPoolHistory":       get("one", "/pools/spare/history"),
		"scalePool":            send("one, again", "POST", "/pools/spare/scaling", `{"factory":"spare","step":"draining"}`),
		"drainFactory":         send("one, again", "POST", "/factories/spare/drain", `{}`),
		"undrainFactory":       send("one, again", "POST", "/factories/spare/undrain", `{}`),
		"getCoordinatorStatus": get("all", "/coordinator/status"),
		"noteLosses":           send("none", "POST", "/coordinator/losses/note", `{}`),
		"recover":              send("all", "POST", "/coordinator/recover", `{}`),
		"listCoordinatorLogs":  get("200 lines", "/coordinator/logs?limit=200"),
	}
}

func moneyInputs(n *named) map[string]worst {
	budget := "/budgets/" + n.budget
	return map[string]worst{
		"listPrices": get("all", "/prices"),
		"savePrices": send("200 prices", "PUT", "/prices", `{"prices":`+list(200,
			`{"provider":"house","model":"m-{i}","valid_from":"2026-01-02T03:04:05Z","input":"1","output":"1",`+
				`"cache_read":"1","cache_write":"1","cache_write_1h":"1"}`)+`}`),
		"listUnpricedModels":  get("all", "/prices/models"),
		"decideUnpricedModel": send("a model each", "PUT", "/prices/models", `{"model":"m{n}","decision":"pass"}`),
		"getUsage":            get("by job, a year, 1,000 groups", "/usage?group_by=job&limit=1000&from="+yearAgo()),
		"listUsageEntries":    get("200 entries, a year, by a name that few have", "/usage/entries?limit=200&agent=nobody&from="+yearAgo()),
		"listBudgets":         get("all", "/budgets"),
		"createBudget": send("a budget each", "POST", "/budgets",
			`{"name":"B {n}","scope":"milestone","phase":"p{n}","period":"day","limit_usd":"10"}`),
		"getBudget":       get("one", budget),
		"patchBudget":     send("one", "PATCH", budget, `{"limit_usd":"{n}"}`),
		"deleteBudget":    send("none that is there", "DELETE", "/budgets/01900005-0000-7000-8000-000000000000", ``),
		"transferBudget":  send("one", "POST", budget+"/transfer", `{"to":"`+n.another+`","amount_usd":"0.000001"}`),
		"raiseBudget":     send("one", "POST", budget+"/raise", `{"amount_usd":"0.000001"}`),
		"undoBudgetLine":  send("none that is there", "POST", budget+"/undo", `{"line":1}`),
		"listBudgetLines": get("200 lines", budget+"/ledger?limit=200"),
		"getBudgetSeries": get("by hours", budget+"/series?bucket=hour"),
	}
}

func messageInputs(n *named) map[string]worst {
	return map[string]worst{
		"sendMessage": send("50 KB", "POST", "/messages",
			`{"type":"custom.x","to":{"role":"reviewer"},"payload":{"n":"{n}","text":`+text(50_000)+`}}`),
		"sendMessages": send("500 messages", "POST", "/messages/batch", `{"messages":`+
			list(500, `{"type":"custom.x","to":{"role":"reviewer"},"payload":{"n":"{n}"}}`)+`}`),
		"readMessages":      get("100, without a wait", "/messages?limit=100"),
		"ackMessages":       send("500 messages", "POST", "/messages/ack", `{"seqs":`+list(500, `{i}`)+`}`),
		"nackMessage":       send("none that is there", "POST", "/messages/nack", `{"seq":1}`),
		"searchMessages":    get("six words that all have", "/messages/search?limit=100&q=in+of+word1+part1+build1+custom"),
		"readThread":        get("200 messages", "/messages/threads/spare?limit=200"),
		"listArchives":      get("200", "/messages/archives?limit=200"),
		"listDeadLetters":   get("200", "/messages/dead?limit=200"),
		"redriveDeadLetter": send("none that is dead", "POST", "/messages/dead/"+n.message+"/redrive", ``),
		"discardDeadLetter": send("none that is dead", "POST", "/messages/dead/"+n.message+"/discard", ``),
		"getMessage":        get("one", "/messages/"+n.message),
		"listExports":       get("all", "/exports"),
		"listWebhooks":      get("all", "/webhooks"),
		"createWebhook": send("100 products that are not there", "POST", "/webhooks",
			`{"url":"https://93.184.215.14/{n}","products":`+list(100, `"none-{i}"`)+`}`),
		"patchWebhook": send("pause, of a version that is past", "PATCH", "/webhooks/"+n.webhook,
			`{"version":1000000,"state":"paused"}`),
		"deleteWebhook":         send("none that is there", "DELETE", "/webhooks/01900005-0000-7000-8000-000000000000", ``),
		"rotateWebhook":         send("one", "POST", "/webhooks/"+n.webhook+"/rotate", `{"overlap_hours":1}`),
		"testWebhook":           send("one", "POST", "/webhooks/"+n.webhook+"/test", ``),
		"listWebhookDeliveries": get("200", "/webhooks/"+n.webhook+"/deliveries?limit=200"),
		"redeliver":             send("none that is there", "POST", "/deliveries/01900005-0000-7000-8000-000000000000/redeliver", ``),
		"createExport":          send("the same", "POST", "/exports", `{"name":"spare","source":"events"}`),
		"deleteExport":          send("none that is there", "DELETE", "/exports/x{n}?confirm=x{n}", ``),
		"resetExport":           send("to the beginning", "POST", "/exports/spare/reset", `{"position":""}`),
		"readExport":            get("200 events, from the beginning", "/exports/spare/next?limit=200"),
		"ackExport":             send("the same", "POST", "/exports/spare/ack", `{"position":"`+n.position+`"}`),
	}
}

func otherInputs(n *named) map[string]worst {
	return map[string]worst{
		"listProducts":       get("all", "/products?limit=200"),
		"getProduct":         get("one", "/products/default"),
		"previewAutoApprove": get("all", "/products/default/auto_approve/preview"),
		"putProduct":         send("200 repos", "PUT", "/products/spare", `{"repos":`+list(200, `"repo-{i}-{n}"`)+`}`),
		"deleteProduct":      send("none that is there", "DELETE", "/products/none", ``),
		"listEvents": get("200 events of 50 types, of somebody without any",
			"/events?limit=200&actor=nobody&"+times(50, "type=job.created")),
		"streamEvents": {
			what: "from the beginning, again and again", method: "GET", path: "/events/stream?after=",
			bytes: true, accept: "text/event-stream",
		},
		"putBlob": {
			what: "64 MB", method: "PUT", path: "/blobs", body: bytes.Repeat([]byte("blob"), fairnessBlob/4),
			bytes: true, accept: "*/*",
		},
		"getBlob":        {what: "64 MB", method: "GET", path: "/blobs/" + n.blob, bytes: true, accept: "*/*"},
		"headBlob":       {what: "64 MB", method: "HEAD", path: "/blobs/" + n.blob, bytes: true, accept: "*/*"},
		"getVersion":     get("all", "/version"),
		"getDescription": get("all", "/openapi.yaml"),
	}
}

// issuerClaims are as many as a rule may have.
var issuerClaims = func() string {
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprintf(`{"claim":"c%d","value":"v"}`, i))
	}
	return strings.Join(all, ",")
}()
