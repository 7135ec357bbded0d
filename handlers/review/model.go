package review

import (
	"slices"
	"strconv"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/review"
	"github.com/fleetboard/fleetboard/views/ui"
)

// pageData is all that the review page is made of.
type pageData struct {
	place    place
	queue    screens.ReviewQueue
	job      *reviewedJob // nil where the place names none
	now      time.Time
	canWrite bool
}

// reviewedJob is a job with what its review says beside it.
type reviewedJob struct {
	job      jobs.Job
	attempts []attempts.Attempt // newest first
	since    []eventlog.Event   // newest first, where it has moved since its link was sent
	rounds   []screens.Round    // the verifications of its work, newest first
	more     bool               // there are older ones
	comments []comments.Comment // on its lines, oldest first
	talk     []eventlog.Event   // what agents and people said to one another, newest first
	previews map[string]string  // the beginnings of proofs that are texts, by their blobs
}

// all returns the listed jobs in the order in which they are gone through.
func (s pageData) all() []screens.Handed {
	return slices.Concat(s.queue.InReview, s.queue.Verified, s.queue.Approved)
}

// shown returns the place in the list of the job that is shown, -1 where it is not
// listed.
func (s pageData) shown() int {
	key := s.place.key
	if s.job != nil {
		key = s.job.job.Key
	}
	return slices.IndexFunc(s.all(), func(h screens.Handed) bool { return h.Key == key })
}

// next returns the job to look at after the shown one: the one behind it in its list,
// else the oldest of another; "" where there is none.
func (s pageData) next() string {
	list, at := s.all(), s.shown()
	if at >= 0 {
		if at+1 < len(list) && list[at+1].Status == list[at].Status {
			return list[at+1].Key
		}
		list = slices.Delete(list, at, at+1)
	}
	if len(list) == 0 {
		return ""
	}
	return list[0].Key
}

func (s pageData) model() view.Review {
	list, at := s.all(), s.shown()
	m := view.Review{Count: reviewWords(s.queue.Count), Queue: s.items(s.queue.InReview), Verified: s.items(s.queue.Verified),
		Approved: s.items(s.queue.Approved)}
	if s.queue.Next != "" {
		m.NextURL = links.ReviewJob("", s.queue.Next)
	}
	if s.place.after != "" {
		m.FirstURL = links.Review
	}
	m.Merging = strconv.Itoa(len(s.queue.Approved))
	if s.queue.More {
		m.Merging += "+"
	}
	if n := web.CountText(s.queue.Count); at >= 0 && at < len(s.queue.InReview) && s.place.after == "" {
		m.Place = strconv.Itoa(at+1) + " of " + n
	}
	if at > 0 {
		m.Before = links.ReviewJob(list[at-1].Key, s.place.after)
	}
	if at >= 0 && at+1 < len(list) {
		m.After = links.ReviewJob(list[at+1].Key, s.place.after)
	}
	if s.job != nil {
		m.Job = s.decided()
		for _, a := range m.Job.Actions {
			if a.Dialog != nil {
				m.Dialogs = append(m.Dialogs, a)
			}
		}
	}
	return m
}

// reviewWords returns the count at the head of the page.
func reviewWords(n screens.Count) string {
	switch n.Jobs {
	case 0:
		return "nothing waits for a decision"
	case 1:
		return "1 waits for a decision"
	default:
		return web.CountText(n) + " wait for a decision"
	}
}

func (s pageData) items(list []screens.Handed) []view.Item {
	items := make([]view.Item, len(list))
	for i, h := range list {
		items[i] = view.Item{Key: h.Key, Title: h.Title, URL: links.ReviewJob(h.Key, s.place.after), Status: h.Status,
			Current: s.job != nil && h.ID == s.job.job.ID, Repo: h.Repo, Since: ui.For(h.Since, s.now),
			Late: h.Status == jobs.InReview && s.now.Sub(h.Since) >= jobparts.LateReview, Priority: h.Priority, Agent: h.Agent}
		if h.Product != jobs.DefaultProduct {
			items[i].Product = h.Product
		}
		if p := h.Verified; p != nil && h.Status == jobs.InReview {
			items[i].Verdict = jobparts.VerifiedLine(*p, s.now).Text.String()
			items[i].Late = items[i].Late && !p.IsOpen()
		}
		if c := jobparts.ParseChanges(h.Result); c != nil && c.Counted {
			items[i].Counted, items[i].Added, items[i].Deleted = true, c.Added, c.Deleted
		}
	}
	return items
}

// decided returns the job that is shown.
func (s pageData) decided() *view.Job {
	j := s.job.job
	r := jobparts.ReadResult(j)
	m := &view.Job{Key: j.Key, Title: j.Title, URL: links.Job(j.Key), Status: j.Status, Meta: s.meta(),
		Sent: s.sent(), Body: ui.Markdown(j.Body), Changes: jobparts.ParseChanges(j.Result), Findings: parseFindings(j.Result),
		Acceptance: jobparts.JudgedCriteria(j, s.canWrite, s.job.rounds), Commit: jobparts.ShortCommit(r.Commit),
		Head: r.Commit, Branch: r.Branch,
		Epoch: strconv.FormatInt(j.Epoch, 10), CanWrite: s.canWrite}
	if m.Verified = jobparts.Verification(j, s.job.rounds, s.job.more, s.now); m.Verified.Choice != "" {
		m.Waits = "You need not wait for the verifier"
	}
	if s.place.seen.linked() {
		m.Version = strconv.Itoa(j.Version)
		m.Moved = describeMoved(j, s.place.seen, s.job.since, s.now)
	}
	if m.Changes != nil {
		m.Changes.PatchURL = jobparts.PatchURL(j.Key, j.Result)
	}
	m.Comments = s.placeComments(m.Changes, r.Commit)
	m.Warnings, m.ProofError = findWarnings(j.Result, m.Changes), evidence.ReadProofs(j.Result).Error
	s.job.preview(m.Acceptance)
	if len(s.job.attempts) > 0 && s.job.attempts[0].Epoch == j.Epoch && j.MergedCommit == "" {
		m.Delivery = jobparts.Delivery(s.job.attempts[0], s.now)
	}
	if o := jobparts.Outcome(j); o != nil {
		m.Summary, m.LinkURL, m.LinkText, m.JSON = o.Summary, o.LinkURL, o.LinkText, o.JSON
	}
	if j.Status != jobs.InReview && j.Status != jobs.Approved {
		m.Gone = s.gone(j)
		return m
	}
	if s.canWrite {
		m.Actions = listDecisions(j)
	}
	return m
}

// gone says what became of a job that is not up for a decision.
func (s pageData) gone(j jobs.Job) *view.Gone {
	word := j.Status.Word()
	g := &view.Gone{Text: ui.Say(ui.Strong(j.Key+" is not in review."),
		ui.T(" "+word+" since "), ui.Moment(ui.For(j.StatusAt, s.now)),
		ui.T(", by "+tenancy.Credit(j.StatusBy, j.CarriedOutBy)+"."))}
	if next := s.next(); next != "" {
		g.NextURL = links.ReviewJob(next, s.place.after)
	}
	return g
}

// listDecisions returns the decisions that the job's status allows, the accepting one
// last, where the thumb is.
func listDecisions(j jobs.Job) []ui.Action {
	keys := map[jobs.Trigger]string{jobs.ByApprove: "a", jobs.ByReject: "r"}
	var list []ui.Action
	for _, by := range []jobs.Trigger{jobs.ByReject, jobs.ByMergeFail, jobs.ByApprove, jobs.ByMerge} {
		v, ok := jobparts.VerbNamed(string(by))
		if !ok || !v.Possible(j) {
			continue
		}
		a := ui.Action{Verb: string(by), Label: v.Label, Icon: v.Icon, URL: links.ReviewAction(j.Key, string(by)), Key: keys[by],
			Danger: by == jobs.ByReject || by == jobs.ByMergeFail, Main: by == jobs.ByApprove || by == jobs.ByMerge}
		if v.Ask != nil {
			a.Dialog = v.Ask(j)
		}
		list = append(list, a)
	}
	return list
}

// meta returns the line under the title: where, who, the how manieth attempt, how
// long it took.
func (s pageData) meta() []ui.Sentence {
	j := s.job.job
	var list []ui.Sentence
	if j.Repo != "" {
		list = append(list, ui.Say(ui.Name(j.Repo)))
	}
	if j.Product != jobs.DefaultProduct {
		list = append(list, ui.Text("product "+j.Product))
	}
	list = append(list, ui.Text("priority "+strconv.Itoa(j.Priority)))
	if len(s.job.attempts) == 0 {
		return list
	}
	last := s.job.attempts[0]
	list = append(list, agentOn(last.Agent, last.Factory), ui.Text(web.Nth(len(s.job.attempts))+" attempt"))
	if d := jobparts.Delivery(last, s.now); d.Word != "" && len(d.Text) == 0 {
		list = append(list, ui.Text(strings.ToLower(d.Word[:1])+d.Word[1:]))
	}
	if last.EndedAt != nil {
		list = append(list, ui.Text("took "+ui.Took(last.EndedAt.Sub(last.ClaimedAt))))
	}
	return list
}

// sent returns what people wrote to earlier attempts, and why the policy leaves this one to a person, newest
// first, without what stands in the rounds.
func (s pageData) sent() []viewparts.Feedback {
	var list []viewparts.Feedback
	for _, e := range s.job.talk {
		by := string(parseObject(e.Payload)["verified_by"])
		if slices.ContainsFunc(s.job.rounds, func(r screens.Round) bool { return by == strconv.Quote(r.Key) }) {
			continue
		}
		switch e.Type {
		case eventlog.JobRejected, eventlog.JobMergeFailed, eventlog.JobRetried:
			list = append(list, jobparts.Feedback(e, s.now))
		case eventlog.JobPolicyHeld: // of what is decided about now
			if !e.At.Before(s.job.job.StatusAt) {
				list = append(list, jobparts.Feedback(e, s.now))
			}
		}
	}
	return list
}

// agentOn names an agent and its factory, once where they have one name.
func agentOn(agent, factory string) ui.Sentence {
	if agent == factory {
		return ui.Say(ui.Name(agent))
	}
	return ui.Say(ui.Name(agent), ui.T(" on "), ui.Name(factory))
}
