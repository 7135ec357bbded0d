package jobsearch

import (
	"context"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// place is how far a workspace's jobs have words: up to a place in the log of events, and
// where walked is not nil those that were there before, up to that job.
type place struct {
	log    eventlog.Cursor
	walked *ids.ID
	era    fulltext.Era
}

// lockPlaceTx reads how far jobs have words; nobody else goes on there until the transaction
// ends.
func lockPlaceTx(ctx context.Context, tx db.Tx, workspace ids.ID) (place, error) {
	r, err := q.JobWordsLock(ctx, tx, workspace)
	if err != nil {
		return place{}, err
	}
	at, err := eventlog.ParseCursor(r.Place)
	return place{at, r.Walked, fulltext.Era{Number: r.Era, Filled: r.Filled}}, err
}

func (p place) saveTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	return q.JobWordsPlaceSave(ctx, tx, dbsqlc.JobWordsPlaceSaveParams{WorkspaceID: workspace, Place: p.log.String(), Walked: p.walked,
		Era: p.era.Number, Filled: p.era.Filled})
}

// texts are what a job is found by.
type texts dbsqlc.JobWordsTextsRow

// textsTx reads the texts of jobs as they are now, of each at most maxText characters.
func textsTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) ([]texts, error) {
	rows, err := q.JobWordsTexts(ctx, tx, maxText, jobs, workspace)
	if err != nil {
		return nil, err
	}
	list := make([]texts, 0, len(rows))
	for _, r := range rows {
		list = append(list, texts(r))
	}
	return list, nil
}

// words returns the words of t, those of its key and title first.
func (t texts) words() string {
	var v fulltext.Vector
	v.Add('A', t.Key)
	v.Add('A', t.Title)
	for _, said := range []string{t.Question, t.Answer, t.LastError} {
		v.Add('B', said)
	}
	v.Add('C', t.Body)
	return v.String()
}

// said returns what a passage of t is taken from.
func (t texts) said() string {
	var list []string
	for _, text := range []string{t.Question, t.Answer, t.LastError, t.Body} {
		if text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, " · ")
}

// writeWordsTx writes the words of jobs as they are now.
func writeWordsTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID, era fulltext.Era) error {
	list, err := textsTx(ctx, tx, workspace, jobs)
	if err != nil || len(list) == 0 {
		return err
	}
	var (
		written []ids.ID
		words   []string
	)
	for _, t := range list {
		written, words = append(written, t.ID), append(words, t.words())
	}
	return q.JobWordsWrite(ctx, tx, workspace, era.Number, written, words)
}
