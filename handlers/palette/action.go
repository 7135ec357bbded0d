package palette

import (
	"context"
	"net/url"
	"strings"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/palette"
)

// atHand returns the key of the job that a query ends with, "cancel FB-12", or else of the
// one that the page shows; the rest of the query is what is to be done with it.
func atHand(query, page string) (key, rest string) {
	words := strings.Fields(query)
	if n := len(words); n > 0 && strings.Contains(words[n-1], "-") {
		return strings.ToUpper(words[n-1]), strings.Join(words[:n-1], " ")
	}
	at, err := url.Parse(page)
	if err != nil {
		return "", query
	}
	if at.Path == links.Review {
		return at.Query().Get("job"), query
	}
	path, ok := strings.CutPrefix(at.Path, links.Jobs+"/")
	if key, _, _ = strings.Cut(path, "/"); !ok || key == "new" {
		return "", query
	}
	return key, query
}

// actionRows returns what the caller may do now with the job at hand, as far as the query
// names it. One that needs a confirmation leads to its dialog.
func (p *Pages) actionRows(ctx context.Context, who tenancy.Principal, query, page string) ([]view.Row, error) {
	key, rest := atHand(query, page)
	if key == "" || !who.Can(tenancy.WriteJobs) {
		return nil, nil
	}
	job, err := p.Jobs.Get(ctx, who, key)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Malformed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return rowsOfActions(job, rest), nil
}

func rowsOfActions(job jobs.Job, rest string) []view.Row {
	var rows []view.Row
	for _, a := range jobparts.Actions(job) {
		row := view.Row{URL: links.JobDialog(job.Key, a.Verb), Icon: a.Icon, Note: job.Title,
			Text: strings.TrimSuffix(a.Label, " job") + " " + job.Key}
		if a.Dialog == nil {
			row.PostURL, row.Version = a.URL, job.Version
		}
		if contains(row.Text, rest) || contains(a.Label, rest) {
			rows = append(rows, row)
		}
	}
	return rows
}
