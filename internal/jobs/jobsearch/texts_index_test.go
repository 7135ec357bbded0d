package jobsearch_test

import (
	"context"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
)

// wakes hands on what is published to those who listen, at once.
type wakes []func(topic string)

func (w *wakes) Subscribe(_ string, fn func(topic string)) (cancel func()) {
	*w = append(*w, fn)
	return func() { *w = nil }
}

func (w *wakes) Publish(topics ...string) {
	for _, topic := range topics {
		for _, fn := range *w {
			fn(topic)
		}
	}
}

// words counts the jobs with words.
func words(t *testing.T, d *db.DB) int {
	t.Helper()
	return dbfactory.Int(t, d, `SELECT count(*) FROM job_words`)
}

// The transaction that makes jobs writes no words; a wake-up of its log does.
func TestWordsAreWrittenOutsideOfTheCreation(t *testing.T) {
	w := jobstest.New(t)
	wake := &wakes{}
	list, index := jobs.NewService(w.DB, wake, nil, nil), jobsearch.NewIndex(w.DB, wake)
	defer index.Close()
	for words(t, w.DB) == 0 { // the first look is at all workspaces
		w.NewJobs(jobs.New{Spec: jobs.Spec{Title: "Seen by the first look"}})
		if _, err := index.IndexTexts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := words(t, w.DB)
	if _, err := list.Create(t.Context(), w.Who, nil, jobs.New{Spec: jobs.Spec{Title: "Told of by a wake-up"}}); err != nil {
		t.Fatal(err)
	}
	if n := words(t, w.DB); n != before {
		t.Errorf("the creation wrote words: %d, before %d", n, before)
	}
	for words(t, w.DB) == before {
		if _, err := index.IndexTexts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// No job is left without words, whoever keeps the log back and however many write words at once.
func TestNoJobIsLeftWithoutWords(t *testing.T) {
	w := jobstest.New(t)
	wake := &wakes{}
	one, other := jobsearch.NewIndex(w.DB, wake), jobsearch.NewIndex(w.DB, wake)
	open, commit, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- w.DB.In(context.WithoutCancel(t.Context()), db.Workspace(w.Who.Workspace), func(tx db.Tx) error {
			err := eventlog.AppendTx(t.Context(), tx, w.Who.Workspace, eventlog.Event{Type: eventlog.ProductSaved})
			close(open)
			<-commit
			return err
		})
	}()
	<-open
	for range 3 {
		w.NewJobs(make100("Kept back")...)
		wake.Publish(eventlog.Topic(w.Who.Workspace))
		if _, err := one.IndexTexts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := words(t, w.DB); n != 0 {
		t.Errorf("%d jobs have words beside an open transaction", n)
	}
	close(commit)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 2)
	for _, index := range []*jobsearch.Index{one, other} {
		go func() {
			var err error
			for n := 0; n < 300 && err == nil; n = dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_words`) {
				_, err = index.IndexTexts(context.WithoutCancel(t.Context()))
			}
			failed <- err
		}()
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// make100 returns a hundred new jobs.
func make100(title string) []jobs.New {
	list := make([]jobs.New, 100)
	for i := range list {
		list[i].Title = title
	}
	return list
}

// A job that was deleted leaves no words, also where they were about to be written.
func TestADeletedJobHasNoWords(t *testing.T) {
	w := jobstest.New(t)
	job := w.NewJobs(jobs.New{Spec: jobs.Spec{Title: "To be deleted"}})[0]
	dbfactory.Exec(t, w.DB, `DELETE FROM job WHERE id = $1`, job.ID)
	jobstest.IndexTexts(t, w.DB)
	kept := w.NewJobs(jobs.New{Spec: jobs.Spec{Title: "To be deleted with words"}})[0]
	jobstest.IndexTexts(t, w.DB)
	if n := words(t, w.DB); n != 1 {
		t.Errorf("%d jobs have words; want %s", n, kept.ID)
	}
	dbfactory.Exec(t, w.DB, `DELETE FROM job WHERE id = $1`, kept.ID)
	if n := words(t, w.DB); n != 0 {
		t.Errorf("%d jobs that are gone have words", n)
	}
}
