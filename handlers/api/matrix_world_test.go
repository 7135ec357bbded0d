package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/dispatch/announce"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The canary is in each text of the first workspace but for the names that are
// in the request, which an answer may repeat.
const canary = "canary7q"

// asked returns the name of a row that the calls request.
func asked(rest string) string { return "nest" + rest }

// matrix is a database with two workspaces, and everybody who may call.
type matrix struct {
	t       *testing.T
	db      *db.DB
	kept    *dbtest.Kept
	offers  *announce.Service
	done    chan struct{} // closed: streams end at once
	handler http.Handler
	askers  []asker
	job     string // id of one that is requested by its key too
	// webhook and delivery are ids of a webhook and of what it is sent.
	webhook, delivery string
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	w := newAPIServer(t, func(o *app.Options) { o.Transport = transporttest.Embedded(t) })
	for !w.services.Wake.Status().Connected { // before that there are no credentials for NATS
		<-time.After(time.Millisecond)
	}
	m := &matrix{t: t, db: w.db, offers: w.services.Announce, done: make(chan struct{})}
	close(m.done)
	first, _ := ids.Parse(dbfactory.Text(t, w.db, "SELECT id::text FROM workspace"))
	dbfactory.Exec(t, w.db, "UPDATE workspace SET name = 'Canary7q works', slug = 'canary7q'")
	dbfactory.Exec(t, w.db, "UPDATE account SET name = 'Canary7q Owner', email = 'canary7q@example.org'")
	dbfactory.Exec(t, w.db, "UPDATE access_token SET name = 'canary7q ' || name")
	w.fill()
	jobstest.IndexTexts(t, w.db)
	jobstest.IndexMessages(t, w.db)
	second := dbfactory.Workspace(t, w.db)

	m.handler = m.serve()
	m.askers = append(m.askers, asker{name: "nobody"}, asker{name: "a made-up token", token: "fb_person_" + strings.Repeat("x", 36)},
		asker{name: "no JWT", token: "e30.e30.e30"})
	for _, role := range []tenancy.Role{tenancy.RoleViewer, tenancy.RoleMember, tenancy.RoleAdmin, tenancy.RoleOwner} {
		m.person(w, first, role, "Canary7q", false)
		m.person(w, second, role, "Other", true)
	}
	owner := m.askers[len(m.askers)-2]
	m.askers = append(m.askers, asker{name: "a cookie with the owner's token", cookie: "sid=" + owner.token + "; session=" + owner.token})
	m.machines(w, first, canary, false)
	m.machines(w, second, "other", true)
	m.job = dbfactory.Text(t, w.db, "SELECT id::text FROM job WHERE key = $1", asked("-1"))
	m.webhook, m.delivery = dbfactory.Text(t, w.db, "SELECT id::text FROM webhook"), dbfactory.Text(t, w.db, "SELECT id::text FROM webhook_delivery")
	m.kept = dbtest.Keep(t, w.db, first)
	return m
}

// person makes a member with a role, its token, and one that was revoked.
func (m *matrix) person(w *apiServer, workspace ids.ID, role tenancy.Role, name string, foreign bool) {
	m.t.Helper()
	id := ids.New()
	dbfactory.Exec(m.t, m.db, "INSERT INTO account (id, email, name) VALUES ($1, $2, $3)", id,
		strings.ToLower(name)+"-"+string(role)+"@example.org", name+" "+string(role))
	dbfactory.Exec(m.t, m.db, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, $3)", workspace, id, role)
	who, err := w.accounts.Workspaces.Person(m.t.Context(), id, workspace)
	if err != nil {
		m.t.Fatal(err)
	}
	label := string(role)
	if foreign {
		label += " of another workspace"
	}
	m.askers = append(m.askers,
		asker{name: label + ", revoked", token: m.revoked(w, who, tokens.NewToken{Kind: tenancy.KindPerson, Name: name + " old"}), foreign: foreign},
		asker{name: label, token: m.issue(w, who, tokens.NewToken{Kind: tenancy.KindPerson, Name: name}), who: who, foreign: foreign})
}

// machines makes an enrolment token, good and revoked, and an agent's.
func (m *matrix) machines(w *apiServer, workspace ids.ID, name string, foreign bool) {
	m.t.Helper()
	owner := dbfactory.Person(workspace, tenancy.RoleOwner)
	owner.Account, _ = ids.Parse(dbfactory.Text(m.t, m.db, "SELECT min(account_id::text) FROM membership WHERE workspace_id = $1 AND role = 'owner'", workspace))
	in := tokens.NewToken{Kind: tenancy.KindEnrolment, Name: name}
	enrolment := m.issue(w, owner, in)
	label := ""
	if foreign {
		label = " of another workspace"
	}
	machine := name + "-machine"
	agent := w.as(enrolment, "PUT", "/agents/"+machine, object{"boot_id": machine, "factory": object{"name": machine}}).want(200).text("token")
	if !foreign {
		agent = w.as(enrolment, "PUT", "/agents/"+asked("-agent"), m.registration()).want(200).text("token")
		w.as(agent, "POST", "/fleet/claim", object{"job": asked("-2")}).want(200)
	}
	m.askers = append(m.askers,
		asker{name: "enrolment token" + label, token: enrolment, who: tenancy.Principal{Kind: tenancy.KindEnrolment}, foreign: foreign},
		asker{name: "revoked enrolment token" + label, token: m.revoked(w, owner, in), foreign: foreign},
		asker{name: "agent" + label, token: agent, who: tenancy.Principal{Kind: tenancy.KindAgent}, foreign: foreign},
		asker{name: "agent" + label + ", one letter changed", token: agent[:len(agent)-4] + "AAAA", foreign: foreign})
}

func (m *matrix) registration() object {
	return object{"boot_id": "nest-boot", "model": canary + "-model", "capabilities": []string{"has:" + canary}, "max_concurrent_jobs": 10,
		"factory": object{"name": asked("-host"), "os": "linux", "host": canary + ".example", "engines": []string{canary},
			"capabilities": []string{"has:" + canary}, "seats": 10, "repos": []object{{"name": canary + "-repo", "url": "https://example.org/" + canary}}}}
}

func (m *matrix) issue(w *apiServer, who tenancy.Principal, in tokens.NewToken) string {
	m.t.Helper()
	token, err := w.accounts.Tokens.Issue(m.t.Context(), who, in)
	if err != nil {
		m.t.Fatal(err)
	}
	return token
}

func (m *matrix) revoked(w *apiServer, who tenancy.Principal, in tokens.NewToken) string {
	m.t.Helper()
	token := m.issue(w, who, in)
	dbfactory.Exec(m.t, m.db, "UPDATE access_token SET revoked_at = now() WHERE created_at = (SELECT max(created_at) FROM access_token)")
	if _, err := w.accounts.Tokens.Bearer(m.t.Context(), token); err == nil {
		m.t.Fatal("the token was not revoked")
	}
	return token
}

// matrixBudget and matrixOther are the budgets that the calls name.
var matrixBudget, matrixOther = ids.New(), ids.New()

// matrixComment is the comment that the calls name.
var matrixComment = ids.New()

// matrixMessage is the message that the calls name, a dead letter.
var matrixMessage = ids.New()

// matrixBlob is the blob that a job names.
var matrixBlob string

// matrixLine is the line of a raise of the first one.
var matrixLine int64

// fill makes jobs in every state that the calls need.
func (w *apiServer) fill() {
	w.t.Helper()
	w.as(w.owner, "PUT", "/products/"+canary+"-product", object{"repos": []string{canary + "-repo"}})
	w.as(w.owner, "PUT", "/products/"+asked("-spare"), object{})
	w.as(w.owner, "PUT", "/issuers/"+asked("-issuer"), object{"url": "https://" + canary + ".example.com", "audience": canary,
		"claims": []object{{"claim": "sub", "value": canary}}}).want(201)
	w.as(w.owner, "PUT", "/pools/"+asked("-pool"), object{"max": 1, "offers": object{"repos": []string{canary + "-repo"}}}).want(201)
	for _, id := range []ids.ID{matrixBudget, matrixOther} {
		dbfactory.Exec(w.t, w.db, `INSERT INTO budget (workspace_id, id, name, scope, phase, scope_key, period, timezone, limit_nanos, hard,
			slice_nanos, slice_tokens, alert_at, unpriced, created_by) SELECT id, $1, $2, 'milestone', $2, 'milestone::' || $2, 'month', 'UTC',
			1000000000000, true, 1, 1, '{}', 'allow', $2 FROM workspace`, id, canary)
	}
	w.as(w.owner, "POST", "/budgets/"+matrixBudget.String()+"/raise", object{"amount_usd": "1"}).want(200)
	matrixLine = w.as(w.owner, "GET", "/budgets/"+matrixBudget.String()+"/ledger", nil).want(200).number("items", 0, "id")
	matrixBlob = w.putBlob(w.owner, "canary7q blob").want(201).text("sha256")
	hook := w.as(w.owner, "POST", "/webhooks", object{"url": "https://93.184.215.14/canary7q"}).want(201).text("webhook", "id")
	w.as(w.owner, "POST", "/webhooks/"+hook+"/test", nil).want(200)
	w.agent(canary)
	w.as(w.owner, "POST", "/messages", object{"id": matrixMessage.String(), "type": "custom.nest", "to": object{"role": "worker"},
		"correlation_id": asked("-thread"), "payload": object{canary: "canary7q text"}}).want(201)
	dbfactory.Exec(w.t, w.db, "UPDATE message_delivery SET deliveries = 5, dead_at = now(), error = $1", canary)
	dbfactory.Exec(w.t, w.db, `INSERT INTO message_archive (workspace_id, id, first_seq, last_seq, messages, blob)
		SELECT workspace_id, gen_random_uuid(), 1, 2, 2, sha256 FROM blob`)
	w.as(w.owner, "POST", "/exports", object{"name": asked("-export"), "source": "messages"}).want(200)
	w.as(w.owner, "GET", "/exports/"+asked("-export")+"/next", nil).want(200) // later ones give out nothing new
	dbfactory.Exec(w.t, w.db, "UPDATE message_export SET created_by = $1", canary)
	dbfactory.Exec(w.t, w.db, "INSERT INTO factory (workspace_id, id, name, host) SELECT id, gen_random_uuid(), $1, $2 FROM workspace",
		asked("-empty"), canary)
	w.job("Canary7q beside", object{"key": canary + "-9"})
	for i, more := range []object{{}, {}, {"depends_on": []string{asked("-1")}}, {}} {
		w.job("Canary7q title", merge(object{"key": asked("-" + strconv.Itoa(i+1)), "body": "canary7q body", "phase": canary, "tags": []string{canary},
			"acceptance": []string{"canary7q criterion"}, "product": canary + "-product", "input_context": object{canary: "canary7q"}}, more))
	}
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
		SELECT workspace_id, id, 1, $2, 'INFO', 'canary7q line' FROM job WHERE key = $1`, asked("-1"), canary)
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_log_words (workspace_id, job_id, epoch, first_id, last_id, words, last_at)
		SELECT workspace_id, id, 1, 0, 9223372036854775807, array_to_tsvector(ARRAY['@' || workspace_id, $2::text, 'line']), now() FROM job WHERE key = $1`, asked("-1"), canary)
	dbfactory.Exec(w.t, w.db, `UPDATE job SET epoch = 1 WHERE key = $1 AND epoch = 0`, asked("-1"))
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_transcript (workspace_id, job_id, epoch, last_n) SELECT workspace_id, id, 1, 1 FROM job WHERE key = $1`, asked("-1"))
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_transcript_chunk (workspace_id, job_id, epoch, first_n, last_n, size, kinds, data)
		SELECT workspace_id, id, 1, 1, 1, 1, 1, $2 FROM job WHERE key = $1`, asked("-1"),
		packer.EncodeAll([]byte(`{"n":1,"kind":"message","title":"canary7q step"}`+"\n"), nil))
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_comment (workspace_id, id, job_id, thread_id, epoch, commit, path, line, side, text, author_kind, author_id, author)
		SELECT workspace_id, $2, id, $2, 1, $3, $3, 1, 'new', $3, 'person', '', $3 FROM job WHERE key = $1`, asked("-1"), matrixComment, canary)
	dbfactory.Exec(w.t, w.db, `INSERT INTO blob_ref (workspace_id, sha256, job_id) SELECT b.workspace_id, b.sha256, j.id FROM blob b, job j
		WHERE j.key = $1`, asked("-1"))
}

// serve returns a server on the database, without a limit of requests.
func (m *matrix) serve(change ...func(*api.Deps)) http.Handler {
	deps := apptest.Build(m.t, m.db).API()
	deps.Done, deps.Announce = m.done, m.offers
	for _, f := range change {
		f(&deps)
	}
	return api.New(deps)
}
