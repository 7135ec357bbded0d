package review_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// form returns what the form of the decision on a page would send.
func form(t *testing.T, d *handlertest.Workspace, page, verb string) url.Values {
	t.Helper()
	sent := url.Values{}
	doc := handlertest.Page(t, d.Get(page), http.StatusOK)
	for _, name := range []string{"epoch", "head", "version"} {
		if v, ok := doc.Find(`#review-bar form[action$="/` + verb + `"] [name=` + name + `]`).First().Attr("value"); ok {
			sent.Set(name, v)
		}
	}
	return sent
}

// A link of a message decides on what it was sent about in one tap where nothing has moved.
func TestALinkDecidesOnWhatItShows(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.HandIn(d.Agent("claude-1"), "Alpha", report.Completion{Commit: "9be04d1f00"})
	page := links.ReviewSeen(j.Key, j.Version, "9be04d1f00")
	doc := handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantCount(t, doc, "#review-moved", 0)
	handlertest.WantCount(t, doc, "#do-approve[type=submit]", 1)
	if d.Now(j).Status != jobs.InReview {
		t.Error("to look at the link has decided")
	}
	handlertest.WantRedirect(t, d.Post("/review/FB-1/approve", form(t, d, page, "approve")), "/review")
	if now := d.Now(j); now.Status != jobs.Approved {
		t.Errorf("it is %s", now.Status)
	}
	// Replayed, it changes nothing and says what has happened.
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#review-moved", "FB-1 has moved since the link was sent.")
	handlertest.WantText(t, doc, "#review-moved", "approved")
	handlertest.WantText(t, doc, "#review-moved", "by Mara Ilić")
	if n := dbfactory.Text(t, d.DB, `SELECT count(*)::text FROM event WHERE type = 'job.approved'`); n != "1" {
		t.Errorf("%s approvals", n)
	}
}

// What has moved since is said above what is there now, and a form that was loaded before is refused.
func TestALinkThatIsStaleDecidesNothing(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	j := d.HandIn(agent, "Alpha", report.Completion{Commit: "9be04d1f00"})
	page := links.ReviewSeen(j.Key, j.Version, "9be04d1f00")
	old := form(t, d, page, "approve")
	if old.Get("version") != strconv.Itoa(j.Version) || old.Get("head") != "9be04d1f00" {
		t.Fatalf("the form is of %v", old)
	}

	// Somebody gives the job another title: its attempt and commit are the same.
	d.Rename(t, j.Key, "Beta <script>x</script>")
	handlertest.WantRedirect(t, d.Post("/review/FB-1/approve", old), page)
	doc := handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "FB-1 has changed since you saw it")
	handlertest.WantText(t, doc, "#review-moved", "It was version "+strconv.Itoa(j.Version)+", it is version "+strconv.Itoa(j.Version+1))
	handlertest.WantText(t, doc, "#review-moved", "Alpha")
	handlertest.WantText(t, doc, "#review-moved", "by Mara Ilić")
	handlertest.WantCount(t, doc, "#review-moved script", 0)

	// Another attempt hands in another commit.
	d.Act(t, j.Key, actions.Action{Verb: jobs.ByReject, Reason: "Measure it."})
	again := d.Claim(agent)
	if _, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: again.Epoch}, report.Completion{Commit: "77aa55cc00"}); err != nil {
		t.Fatal(err)
	}
	handlertest.WantRedirect(t, d.Post("/review/FB-1/approve", old), page)
	forged := url.Values{"epoch": {strconv.FormatInt(again.Epoch, 10)}, "head": {"9be04d1f00"}, "version": {strconv.Itoa(d.Now(j).Version)}}
	handlertest.WantRedirect(t, d.Post("/review/FB-1/approve", forged), links.ReviewSeen(j.Key, d.Now(j).Version, "9be04d1f00"))
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#review-moved", "The link is about 9be04d1; what is handed in now is 77aa55c.")
	handlertest.WantText(t, doc, "#review-moved", "Measure it.")
	if now := d.Now(j); now.Status != jobs.InReview {
		t.Fatalf("it is %s: a stale link has decided", now.Status)
	}
	// The page decides on what it shows, in one tap.
	d.Post("/review/FB-1/approve", form(t, d, page, "approve"))
	if now := d.Now(j); now.Status != jobs.Approved || now.ApprovedHead != "77aa55cc00" {
		t.Errorf("it is %s at %q", now.Status, now.ApprovedHead)
	}
}

// A link of another workspace, of a version that never was, or of nonsense changes nothing.
func TestAForeignLinkChangesNothing(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.HandIn(d.Agent("claude-1"), "Alpha", report.Completion{Commit: "9be04d1f00"})
	doc := handlertest.Page(t, d.Get(links.ReviewSeen(j.Key, j.Version+5, "9be04d1f00")), http.StatusOK)
	handlertest.WantText(t, doc, "#review-moved", "The link names a version that FB-1 does not have.")
	doc = handlertest.Page(t, d.Get(links.ReviewSeen("FB-77", 3, "9be04d1f00")), http.StatusOK)
	handlertest.WantCount(t, doc, "#do-approve", 0)
	for _, query := range []string{"version=x", "version=-1", "version=99999999999999999999", "head=%00", "version=1&head=" + url.QueryEscape("<b>\r\nX: y")} {
		handlertest.Page(t, d.Get("/review?job=FB-1&"+query), http.StatusOK)
	}
	viewer := d.As(tenancy.RoleViewer)
	sent := url.Values{"epoch": {"1"}, "head": {"9be04d1f00"}, "version": {strconv.Itoa(j.Version)}}
	handlertest.Page(t, viewer.Post("/review/FB-1/approve", sent), http.StatusForbidden)
	stranger := dbfactory.Person(dbfactory.Workspace(t, d.DB), tenancy.RoleOwner)
	if _, err := d.OtherProcess.Act(t.Context(), stranger, j.ID.String(), actions.Action{Verb: jobs.ByApprove, Version: &j.Version}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a stranger's approval: %v", err)
	}
	if now := d.Now(j); now.Status != jobs.InReview {
		t.Errorf("it is %s", now.Status)
	}
}
