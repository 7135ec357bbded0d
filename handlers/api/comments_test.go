package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// reviewed is a job of which ada has handed in a change of a.txt, of which lines 4 and 5 are new, and of b.txt.
func (w *apiServer) reviewed() (key, ada string) {
	w.t.Helper()
	ada = w.agent("ada")
	key = w.job("Work", object{"review_required": true})
	w.handIn(ada, "aaaa1111", changeOf("a.txt", "index 1111111..2222222 100644", "@@ -1,5 +1,7 @@\n one\n two\n three\n+new a\n+new b\n four\n five\n")+
		changeOf("b.txt", "index 3333333..4444444 100644", "@@ -1,2 +1 @@\n-gone\n stays\n"), nil)
	return key, ada
}

func changeOf(path, head, hunks string) string {
	return fmt.Sprintf("diff --git a/%s b/%s\n%s\n--- a/%s\n+++ b/%s\n%s", path, path, head, path, path, hunks)
}

// handIn has an agent claim the next job and complete it with a change; it returns what it was given.
func (w *apiServer) handIn(agent, commit, diff string, more object) answer {
	w.t.Helper()
	got := w.as(agent, "POST", "/fleet/claim", object{}).want(200)
	ref := object{"job": got.text("jobs", 0, "key"), "epoch": got.number("jobs", 0, "lease", "epoch")}
	w.as(agent, "POST", "/fleet/complete", merge(ref, merge(object{"commit": commit, "result": object{"diff": diff}}, more))).want(200)
	return got
}

func (w *apiServer) comment(key string, more object) answer {
	return w.as(w.owner, "POST", "/jobs/"+key+"/comments", merge(object{"commit": "aaaa1111", "path": "a.txt", "line": 4, "text": "Why?"}, more))
}

// Twelve comments go with the work to its agent and come back with twelve answers; they follow their lines into the next
// attempt, over a rebase and a rename, and are outdated where the file is deleted.
func TestTwelveCommentsComeBackWithTwelveAnswers(t *testing.T) { //nolint:gocyclo // one story, step by step
	t.Parallel()
	w := newAPIServer(t)
	key, ada := w.reviewed()
	var ids []string
	for i := range 12 {
		place := []object{{"line": 4}, {"line": 5}, {"line": 3}, {"path": "b.txt", "side": "old", "line": 1}, {"path": "b.txt", "line": 1}, {"line": 0}}[i%6]
		made := w.comment(key, merge(place, object{"text": fmt.Sprint("comment ", i)})).want(201)
		ids = append(ids, made.text("id"))
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/comments", object{"in_reply_to": ids[0], "text": "Really?"}).want(201)
	if j := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); j.number("comments_open") != 12 || j.at("feedback_comments") != nil {
		t.Errorf("the job says %v of its comments", j.number("comments_open"))
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/reject", object{"reason": "See the comments."}).want(200)

	var answers []object
	for i, id := range ids {
		answers = append(answers, object{"id": id, "note": fmt.Sprint("answer ", i)})
	}
	// The base has a line more at its beginning, a.txt is c.txt, and b.txt is deleted.
	moved := "diff --git a/a.txt b/c.txt\nsimilarity index 60%\nrename from a.txt\nrename to c.txt\nindex 5555555..6666666 100644\n--- a/a.txt\n+++ b/c.txt\n" +
		"@@ -2,5 +2,7 @@ top\n one\n two\n three\n+new a\n+new b\n four\n five\n" +
		"diff --git a/b.txt b/b.txt\ndeleted file mode 100644\nindex 3333333..0000000\n--- a/b.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-gone\n-stays\n"
	got := w.handIn(ada, "bbbb2222", moved, object{"comments": answers})
	if got.count("jobs", 0, "feedback_comments") != 12 || got.text("jobs", 0, "feedback_comments", 0, "replies", 0, "text") != "Really?" ||
		got.text("jobs", 0, "feedback_comments", 0, "line_text") != "new a" {
		t.Errorf("the agent was given %s", got.raw)
	}
	list := w.as(w.owner, "GET", "/jobs/"+key+"/comments?limit=200", nil).want(200)
	answered := 0
	for i := range list.count("items") {
		if list.at("items", i, "author_kind") == "agent" {
			answered++
			continue
		}
		if list.at("items", i, "in_reply_to") != nil {
			continue
		}
		want := map[string]string{"a.txt:4": "c.txt:5", "a.txt:5": "c.txt:6", "a.txt:3": "c.txt:4", "a.txt:0": "c.txt:0", "b.txt:1old": "b.txt:1"}[place(list, i)]
		got := ""
		if list.at("items", i, "position") != nil {
			got = fmt.Sprintf("%s:%v", list.text("items", i, "position", "path"), list.number("items", i, "position", "line"))
		}
		if got != want || list.at("items", i, "outdated") != (want == "") || list.at("items", i, "resolved") != true || list.text("items", i, "resolved_by") != "ada" {
			t.Errorf("comment %d at %s is at %q now, not %q", i, place(list, i), got, want)
		}
	}
	if answered != 12 {
		t.Errorf("%d comments are answered", answered)
	}
	if j := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); j.number("comments_open") != 0 {
		t.Errorf("the job has %v open", j.number("comments_open"))
	}
	log := string(w.as(w.owner, "GET", "/events?type=job.*&limit=200", nil).want(200).raw)
	for event, n := range map[string]int{"job.commented": 13, "job.comments_answered": 1} {
		if strings.Count(log, `"`+event+`"`) != n {
			t.Errorf("the log has %d of %s", strings.Count(log, event), event)
		}
	}
	if !strings.Contains(log, `"comments":12`) {
		t.Errorf("the rejection does not say how many comments went with it")
	}
}

func place(list answer, i int) string {
	side := ""
	if list.text("items", i, "side") == "old" {
		side = "old"
	}
	return fmt.Sprintf("%s:%v%s", list.text("items", i, "path"), list.number("items", i, "line"), side)
}

// What an agent answers to what is not there, is of another job or was answered before, is refused by a code of its own,
// and nothing of that call is kept.
func TestAnswersAreRefusedByStableCodes(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key, ada := w.reviewed()
	first, second := w.comment(key, nil).want(201).text("id"), w.comment(key, object{"line": 5}).want(201).text("id")
	other := w.job("Other", object{"review_required": true})
	w.handIn(ada, "cccc3333", changeOf("a.txt", "index 1..2", "@@ -1 +1 @@\n-a\n+b\n"), nil)
	foreign := w.as(w.owner, "POST", "/jobs/"+other+"/comments", object{"commit": "cccc3333", "path": "a.txt", "line": 1, "text": "x"}).want(201).text("id")
	reply := w.as(w.owner, "POST", "/jobs/"+key+"/comments", object{"in_reply_to": first, "text": "And?"}).want(201).text("id")
	w.as(w.owner, "POST", "/jobs/"+key+"/reject", object{"reason": "no"}).want(200)
	got := w.as(ada, "POST", "/fleet/claim", object{"job": key}).want(200)
	done := func(answers ...object) answer {
		return w.as(ada, "POST", "/fleet/complete", object{"job": key, "epoch": got.number("jobs", 0, "lease", "epoch"), "commit": "dddd4444", "comments": answers})
	}
	say := func(id string) object { return object{"id": id, "note": "done"} }
	unknown := "0190a7c2-7c1b-7d6e-9d2f-3b1c5a6d7e8f"
	done(say(first), say(unknown)).want(422).refused(fault.CommentUnknown)
	done(say(reply)).want(422).refused(fault.CommentUnknown)
	done(say(first), say(foreign)).want(422).refused(fault.CommentElsewhere)
	done(say(first), say(first)).want(422).refused(fault.Validation, "comments[1].id")
	done(say("x")).want(422)
	done(object{"id": first, "note": " "}).want(422).refused(fault.Validation, "comments[0].note")
	done(object{"id": first, "note": "a\x00b"}).want(422)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM job_comment WHERE author_kind = 'agent' OR resolved_at IS NOT NULL`); n != 0 {
		t.Errorf("%d rows are left of what was refused", n)
	}
	w.as(w.owner, "PATCH", "/comments/"+second, object{"resolved": true}).want(200) // meanwhile
	done(say(first), say(second)).want(200)
	done(say(first), say(second)).want(200) // the same again
	done(say(first)).want(409).refused(fault.AlreadyEnded)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM job_comment WHERE author_kind = 'agent'`); n != 2 {
		t.Errorf("%d answers are kept", n)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/reject", object{"reason": "again"}).want(200)
	got = w.as(ada, "POST", "/fleet/claim", object{"job": key}).want(200)
	if got.at("jobs", 0, "feedback_comments") != nil {
		t.Errorf("resolved comments went along: %s", got.raw)
	}
	done(say(first)).want(409).refused(fault.CommentAnswered)
	w.as(w.owner, "PATCH", "/comments/"+first, object{"resolved": false}).want(200)
	done(say(first)).want(200)
}

// A comment wants a commit that was handed in, and a line that it has; only its author edits it.
func TestCommentsAreChecked(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key, ada := w.reviewed()
	for field, more := range map[string]object{"commit": {"commit": "ffff"}, "path": {"path": "z.txt"}, "line": {"line": -1}, "side": {"side": "left"},
		"text": {"text": " "}, "in_reply_to": {"in_reply_to": "0190a7c2-7c1b-7d6e-9d2f-3b1c5a6d7e8f"}} {
		w.comment(key, more).want(422).refused(fault.Validation, field)
	}
	w.comment(key, object{"text": strings.Repeat("x", 2001)}).want(422)
	w.comment(key, object{"text": "a\x00b"}).want(422)
	w.as(ada, "POST", "/jobs/"+key+"/comments", object{"text": "x"}).want(403)
	w.comment("FB-99", nil).want(404)
	one := w.comment(key, nil).want(201).text("id")
	mara := w.member()
	w.as(mara, "PATCH", "/comments/"+one, object{"text": "Mine now"}).want(403).refused(fault.Forbidden)
	w.as(mara, "PATCH", "/comments/"+one, object{"resolved": true}).want(200)
	again := w.as(w.owner, "PATCH", "/comments/"+one, object{"text": "Why so?", "resolved": false}).want(200)
	if again.text("text") != "Why so?" || again.at("edited_at") == nil || again.at("resolved") != false {
		t.Errorf("it became %s", again.raw)
	}
	w.as(w.owner, "PATCH", "/comments/"+one, object{}).want(422)
	w.as(w.owner, "PATCH", "/comments/x", object{"resolved": true}).want(404)
	reply := w.as(w.owner, "POST", "/jobs/"+key+"/comments", object{"in_reply_to": one, "text": "And?"}).want(201).text("id")
	w.as(w.owner, "PATCH", "/comments/"+reply, object{"resolved": true}).want(422).refused(fault.Validation, "resolved")
	var page struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next_cursor"`
	}
	first := w.as(w.owner, "GET", "/jobs/"+key+"/comments?limit=1", nil).want(200)
	if err := json.Unmarshal(first.raw, &page); err != nil || len(page.Items) != 1 || page.Next == "" {
		t.Errorf("the first page is %s", first.raw)
	}
	if rest := w.as(ada, "GET", "/jobs/"+key+"/comments?cursor="+page.Next, nil).want(200); rest.count("items") != 1 || rest.text("items", 0, "id") != reply {
		t.Errorf("the second page is %s", rest.raw)
	}
}

// As many comments as are taken are taken, and no more of them are open than go with the work.
func TestCommentsAreBounded(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key, _ := w.reviewed()
	for range 100 {
		w.comment(key, nil).want(201)
	}
	w.comment(key, nil).want(422).refused(fault.Validation, "text")
}

// member is another member of the owner's workspace, with a token.
func (w *apiServer) member() string {
	w.t.Helper()
	owner := w.person()
	account := dbfactory.NewMember(w.t, w.db, owner.Workspace, tenancy.RoleMember)
	token, err := w.accounts.Tokens.Issue(w.t.Context(), tenancy.Principal{Kind: tenancy.KindPerson, Role: tenancy.RoleMember,
		Workspace: owner.Workspace, Account: account, Name: "Mara"}, tokens.NewToken{Kind: tenancy.KindPerson, Name: "mara"})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// addComment has somebody comment on a job before it was ever handed in, and returns the comment's id.
func (w *apiServer) addComment(key string) string {
	w.t.Helper()
	id := ids.New()
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_comment (workspace_id, id, job_id, thread_id, epoch, commit, path, line, side, text, author_kind, author_id, author)
		SELECT workspace_id, $2, id, $2, 1, 'c', 'a.go', 1, 'new', 'Why?', 'person', '', 'Mara' FROM job WHERE key = $1`, key, id)
	return id.String()
}
