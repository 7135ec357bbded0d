package palette

import (
	"context"
	"slices"
	"unicode/utf8"

	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/palette"
)

// messagesFound is how many messages the palette lists, logsFound how many logs. Of fewer
// characters than logsFrom nearly every log has a word that begins with them.
const (
	messagesFound = 4
	logsFound     = 4
	logsFrom      = 3
)

// words adds to the jobs that were found by key or title those with the words elsewhere, and
// finds messages. A query without a word finds none.
func (p *Pages) words(ctx context.Context, who tenancy.Principal, query string, found []jobs.Job) ([]jobs.Job, []view.Row, error) {
	if query == "" {
		return found, nil, nil
	}
	more, err := p.JobSearch.Find(ctx, who, query, web.MaxFound)
	if fault.Is(err, fault.Validation) {
		return found, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, f := range more {
		known := slices.ContainsFunc(found, func(j jobs.Job) bool { return j.ID == f.ID })
		if !known && len(found) < web.MaxFound && f.Status != jobs.Archived {
			found = append(found, f.Job)
		}
	}
	list, err := p.Bus.Search(ctx, who, query, bus.Filter{}, messagesFound)
	rows := make([]view.Row, len(list))
	for i, m := range list {
		text, _ := messageparts.Said(m.Payload)
		if text == "" {
			text = m.Type
		}
		rows[i] = view.Row{URL: links.ThreadAt(m.CorrelationID, m.Seq), Icon: "messages-square", Text: web.FirstLine(text, web.MaxQuote),
			Note: messageparts.AddressName(m.From)}
	}
	return found, rows, err
}

// logs finds jobs by words in their logs.
func (p *Pages) logs(ctx context.Context, who tenancy.Principal, query string) ([]view.Row, error) {
	if utf8.RuneCountInString(query) < logsFrom {
		return nil, nil
	}
	list, err := p.JobSearch.FindLogs(ctx, who, query, logsFound)
	if fault.Is(err, fault.Validation) {
		return nil, nil
	}
	rows := make([]view.Row, len(list))
	for i, f := range list {
		rows[i] = view.Row{URL: links.JobLog(f.Key, links.LogView{Text: f.In.Text}), Icon: "scroll-text", Key: f.Key, Text: f.Title}
		if f.In.Line != nil {
			rows[i].Text, rows[i].Note = unmarked(f.Passage), f.Title
		}
	}
	return rows, err
}

// unmarked returns a passage without its marks: the palette marks what was typed.
func unmarked(passage string) (text string) {
	for _, piece := range messageparts.Passage(passage) {
		text += piece.Text
	}
	return text
}
