package viewstest

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/layout"
)

// Names and values of inputs are anybody's text; of a secret only the placeholder
// and a lock are shown, whatever the model holds.
func TestInputsOfAJob(t *testing.T) {
	j := sampleJob()
	j.Inputs = job.Inputs{Secret: true, List: []job.Input{{Name: hostile, Value: hostile}, {Name: "TOKEN", Value: "canary", Secret: true}}}
	doc := Parsed(t, job.Panel(j))
	if n := doc.Find("[data-pwned], img").Length(); n != 0 {
		t.Errorf("%d elements of the hostile text became markup", n)
	}
	doc.Find("#job-inputs dt, #job-inputs dd").Each(func(_ int, el *goquery.Selection) {
		if strings.ContainsAny(el.Text(), "\u202e\x1b") || strings.Contains(el.Text(), "canary") {
			t.Errorf("shown is %q", el.Text())
		}
	})
	if n := doc.Find("#job-inputs dd svg").Length(); n != 1 {
		t.Errorf("%d locks; want one", n)
	}
	j.Inputs = job.Inputs{}
	if n := Parsed(t, job.Panel(j)).Find("#job-inputs").Length(); n != 0 {
		t.Error("a job without inputs has a panel for them")
	}
}

// Typed secrets never come back with the form: there is no place for them in its
// model, and the field is empty.
func TestTheFieldOfSecretsIsEmpty(t *testing.T) {
	form := sampleForm()
	form.SecretsGone = true
	form.Typed.Set("inputs", "A=x")
	doc := Parsed(t, jobform.View(jobform.Page{Shell: Shell(layout.SectionNewJob, ""), Form: form}))
	if text := doc.Find("#secrets").Text(); text != "" || doc.Find("#inputs").Text() != "A=x" {
		t.Errorf("the field of secrets holds %q", text)
	}
	if !strings.Contains(doc.Find("#secrets-h").Text(), "not sent back") {
		t.Error("the form does not say that they are to be written again")
	}
}
