package job

import (
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// How much of a step a page shows, in characters, and of a diff in lines: the rest is behind a link.
const (
	maxStepText = 1500
	maxStepDiff = 60
)

// stepGroups are the kinds of steps that a filter shows, by its name in addresses.
var stepGroups = map[string][]transcript.Kind{
	"":        nil,
	"message": {transcript.Message, transcript.Reasoning, transcript.Person},
	"tool":    {transcript.Tool, transcript.Output},
	"edit":    {transcript.Edit},
	"plan":    {transcript.Plan},
	"usage":   {transcript.Usage},
}

// stepFilters are the choices of kinds.
var stepFilters = []struct{ kind, label string }{
	{"", "All"}, {"message", "Words"}, {"tool", "Tools"}, {"edit", "Edits"}, {"plan", "Plans"}, {"usage", "Usage"},
}

// stepKinds are the words and icons of kinds.
var stepKinds = map[transcript.Kind]struct {
	word, icon string
	quiet      bool
}{
	transcript.Message: {"says", "bot", false}, transcript.Reasoning: {"thinks", "lightbulb", true},
	transcript.Tool: {"uses", "terminal", false}, transcript.Output: {"gets", "corner-down-left", true},
	transcript.Edit: {"edits", "pencil", false}, transcript.Plan: {"plans", "list-checks", false},
	transcript.Usage: {"spends", "coins", true}, transcript.Person: {"is told", "user", false},
}

// transcriptData is what a part of a transcript is made of.
type transcriptData struct {
	job    jobs.Job
	view   links.TranscriptView
	epoch  int64 // of the attempt that is shown, 0 for none
	epochs []int64
	page   transcript.Page
}

func (d transcriptData) model() view.Transcript {
	whole := links.TranscriptView{Epoch: d.view.Epoch, Kind: d.view.Kind}
	newest := whole
	newest.Text = d.view.Text
	m := view.Transcript{Key: d.job.Key, JobURL: links.Job(d.job.Key), PageURL: links.Transcript(d.job.Key, links.TranscriptView{}),
		Attempt: int(d.epoch), Kind: d.view.Kind, Text: d.view.Text, AllURL: links.Transcript(d.job.Key, whole), Sum: sumModel(d.page.Head),
		Part: d.view.Before > 0 || d.view.Step > 0, Newest: links.Transcript(d.job.Key, newest), HasOlder: d.page.More}
	for _, epoch := range d.epochs {
		m.Attempts = append(m.Attempts, view.LogFilter{Label: "e" + strconv.FormatInt(epoch, 10), Current: epoch == d.epoch,
			URL: links.Transcript(d.job.Key, links.TranscriptView{Epoch: epoch, Kind: d.view.Kind})})
	}
	for _, f := range stepFilters {
		m.Kinds = append(m.Kinds, view.LogFilter{Label: f.label, Current: f.kind == d.view.Kind,
			URL: links.Transcript(d.job.Key, links.TranscriptView{Epoch: d.view.Epoch, Kind: f.kind, Text: d.view.Text})})
	}
	marks := matcher(d.view.Text)
	last := int64(0)
	for _, s := range d.page.Steps {
		m.Steps = append(m.Steps, stepModel(d.job.Key, d.epoch, s, marks))
		last = s.N
	}
	older := newest
	older.Epoch, older.Before = d.epoch, d.page.Looked
	m.Older = links.Transcript(d.job.Key, older)
	if m.Part && last > 0 && last < d.page.Head.Last {
		m.Newer = links.TranscriptStep(d.job.Key, d.epoch, last)
	}
	if !m.Part && m.Text == "" && d.job.Status != jobs.Archived {
		m.LiveURL = links.LiveTranscript(d.job.Key, d.epoch, max(last, d.page.Head.Last), newest)
	}
	return m
}

func sumModel(h transcript.Head) view.TranscriptSum {
	m := view.TranscriptSum{Steps: ui.Count(int(h.Steps)) + " steps"}
	if h.Steps == 1 {
		m.Steps = "1 step"
	}
	if h.Tokens > 0 {
		m.Tokens = ui.Count(int(h.Tokens)) + " tokens"
	}
	if h.Cost > 0 {
		m.Cost = spend.Nanos(h.Cost).String()
	}
	if h.LeftOut > 0 {
		m.LeftOut = ui.Count(int(h.LeftOut)) + " left out"
	}
	return m
}

func stepModel(key string, epoch int64, s transcript.Step, marks marker) view.Step {
	k := stepKinds[s.Kind]
	m := view.Step{N: s.N, URL: links.TranscriptStep(key, epoch, s.N), At: ui.At(s.At), Kind: k.word, Icon: k.icon, Quiet: k.quiet,
		Tool: s.Tool, Path: s.Path, Title: marks.mark(view.LogLine{Message: []view.LogPiece{{Text: s.Title}}}).Message}
	var spent []string
	if s.Tokens > 0 {
		spent = append(spent, ui.Count(int(s.Tokens))+" tokens")
	}
	if s.Cost > 0 {
		spent = append(spent, spend.Nanos(s.Cost).String())
	}
	m.Spent = strings.Join(spent, ", ")
	if s.Blob != "" {
		m.BlobURL = links.Blob(s.Blob)
	}
	if s.Kind == transcript.Edit {
		m.Diff = diffLines(s.Text)
		m.Open = len(m.Diff) <= maxStepDiff/2
	} else if s.Text != s.Title {
		m.Text = web.Beginning(s.Text, maxStepText)
	}
	if m.Text != s.Text && s.Kind != transcript.Edit && s.Text != s.Title || strings.Count(s.Text, "\n") > maxStepDiff {
		m.TextURL = links.TranscriptText(key, epoch, s.N)
	}
	return m
}

// diffLines returns the beginning of a diff, line by line.
func diffLines(text string) (lines []jobparts.DiffLine) {
	if text == "" {
		return nil
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		kind := jobparts.DiffSame
		switch {
		case strings.HasPrefix(line, "@@"):
			kind = jobparts.DiffHead
		case strings.HasPrefix(line, "+"):
			kind = jobparts.DiffAdded
		case strings.HasPrefix(line, "-"):
			kind = jobparts.DiffDeleted
		}
		if lines = append(lines, jobparts.DiffLine{Kind: kind, Text: web.Beginning(line, maxDiffLine)}); len(lines) == maxStepDiff {
			break
		}
	}
	return lines
}

// maxDiffLine is how much of a line of a diff is shown, in characters.
const maxDiffLine = 300

// cleanText returns a text as a page of its own shows it.
func cleanText(text string) string { return ui.CleanLines(text) }
