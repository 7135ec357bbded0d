package review

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/patches"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// addComment makes a comment on a line of the shown work, or a reply.
func (s site) addComment(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	n := comments.New{Commit: in.Get("commit"), Text: strings.ReplaceAll(in.Get("text"), "\r\n", "\n"),
		Place: patches.Place{Path: in.Get("path"), Side: patches.Side(in.Get("side"))}}
	if line := strings.TrimSpace(in.Get("line")); line != "" {
		if n.Place.Line, err = strconv.Atoi(line); err != nil {
			n.Place.Line = -1 // which is refused in its words
		}
	}
	if to := in.Get("in_reply_to"); to != "" {
		n.InReplyTo, _ = ids.Parse(to) // what is no id is no reply, and has no place
	}
	made, err := s.Comments.Add(c.Request().Context(), who, c.Param("key"), n, nil)
	return s.showComment(c, made, err)
}

// resolveComment resolves a comment, or opens it again.
func (s site) resolveComment(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	resolved := in.Get("resolved") == "true"
	changed, err := s.Comments.Edit(c.Request().Context(), who, c.Param("comment"), comments.Edit{Resolved: &resolved})
	return s.showComment(c, changed, err)
}

// showComment leads back to the work, at the comment.
func (s site) showComment(c echo.Context, made comments.Comment, err error) error {
	at := links.ReviewJob(c.Param("key"), "")
	if fault.Is(err, fault.Validation) {
		s.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: "The comment was not made", Text: web.FieldText(err)})
		return web.SeeOther(c, at)
	}
	if err != nil {
		return err
	}
	return web.SeeOther(c, at+"#comment-"+made.Thread.String())
}

// placeComments puts the comments on a job below their lines, and returns the others.
func (s pageData) placeComments(c *viewparts.Changes, commit string) viewparts.Comments {
	m := viewparts.Comments{}
	by := map[patches.Place][]viewparts.Thread{}
	open := 0
	for _, t := range s.listThreads() {
		if t.first.IsOpen() {
			open++
		}
		at := t.first.Position
		if at == nil || at.Place.Line == 0 || !isShown(c, at.Place) {
			t.view.LineText = t.first.LineText
			m.Elsewhere = append(m.Elsewhere, t.view)
			continue
		}
		by[at.Place] = append(by[at.Place], t.view)
	}
	if open > 0 {
		m.Open = strconv.Itoa(open) + " open"
	}
	if s.canWrite && commit != "" && c != nil && len(c.Files) > 0 {
		m.Place = &viewparts.NewPlace{URL: links.ReviewComments(s.job.job.Key), Commit: commit}
		for i := range c.Files {
			m.Place.Paths = append(m.Place.Paths, c.Files[i].Path)
			c.Files[i].Commentable = true
		}
	}
	if c != nil {
		attach(c, by)
	}
	return m
}

// isShown reports whether a line is among those on the page.
func isShown(c *viewparts.Changes, at patches.Place) bool {
	return c != nil && slices.ContainsFunc(c.Files, func(f viewparts.ChangedFile) bool {
		return f.Path == at.Path && slices.ContainsFunc(f.Lines, func(l viewparts.DiffLine) bool {
			return l.Number(string(at.Side)) == strconv.Itoa(at.Line)
		})
	})
}

// attach puts threads below their lines.
func attach(c *viewparts.Changes, by map[patches.Place][]viewparts.Thread) {
	for i := range c.Files {
		f := &c.Files[i]
		for j := range f.Lines {
			l := &f.Lines[j]
			for _, side := range []patches.Side{patches.Old, patches.New} {
				n, err := strconv.Atoi(l.Number(string(side)))
				if err == nil {
					l.Threads = append(l.Threads, by[patches.Place{Path: f.Path, Side: side, Line: n}]...)
				}
			}
			f.Open = f.Open || len(l.Threads) > 0
		}
	}
}

// reviewThread is a thread with its first comment.
type reviewThread struct {
	first comments.Comment
	view  viewparts.Thread
}

// listThreads returns the threads on the shown job, the open ones first.
func (s pageData) listThreads() []reviewThread {
	var open, done []reviewThread
	for _, c := range s.job.comments {
		if !c.IsFirst() {
			continue
		}
		t := reviewThread{c, s.showThread(c)}
		if c.IsOpen() {
			open = append(open, t)
		} else {
			done = append(done, t)
		}
	}
	return append(open, done...)
}

func (s pageData) showThread(first comments.Comment) viewparts.Thread {
	at := first.Place
	v := viewparts.Thread{ID: first.ID.String(), Open: first.IsOpen()}
	var states []string
	if first.ResolvedAt != nil {
		states = append(states, "Resolved by "+first.ResolvedBy.Name)
	}
	if first.Position == nil {
		states = append(states, "Outdated")
	} else {
		at = first.Position.Place
	}
	v.State = strings.Join(states, ", ")
	if v.Place = at.Path; at.Line > 0 {
		v.Place += ":" + strconv.Itoa(at.Line)
	}
	for _, c := range s.job.comments {
		if c.Thread == first.ID {
			v.Said = append(v.Said, showSaid(c, s.now))
		}
	}
	if s.canWrite {
		v.ReplyURL, v.ResolveURL = links.ReviewComments(s.job.job.Key), links.ReviewComment(s.job.job.Key, v.ID)
	}
	return v
}

func showSaid(c comments.Comment, now time.Time) viewparts.Said {
	return viewparts.Said{Author: c.Author.Name, Text: c.Text, Agent: c.Author.Kind == tenancy.KindAgent, At: ui.Ago(c.At, now),
		Edited: c.EditedAt != nil}
}
