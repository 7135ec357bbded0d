package handlertest

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// OtherPassword is one to change to.
const OtherPassword = "a kettle in the winter garden"

var linkForm = regexp.MustCompile(`^http://example\.com(/invitations/fb_invite_[0-9A-Za-z]{33}_[0-9A-Za-z]{6})$`)

// Filled returns a form as a browser sends it.
func Filled(change url.Values) url.Values {
	in := url.Values{
		"idempotency_key": {ids.New().String()}, "title": {"Alpha"}, "body": {"Make it so"}, "repo": {""}, "factory": {""},
		"engine": {""}, "priority": {"5"}, "max_retries": {"3"}, "phase": {""}, "product": {""}, "review_required": {"inherit"},
		"acceptance": {"It is so", ""}, "depends_on": {""}, "estimated_minutes": {""}, "not_before": {""},
	}
	for name, values := range change {
		in[name] = values
	}
	return in
}

// FirstStart is how many events the first start writes: of its two tokens.
const FirstStart = 2

// Line returns the text of the newest event of a kind.
func Line(doc *goquery.Document, kind string) string {
	text := ""
	doc.Find("[data-event]").EachWithBreak(func(_ int, e *goquery.Selection) bool {
		if e.Find(".ev-k").Text() == kind {
			text = strings.Join(strings.Fields(e.Text()), " ")
			return false
		}
		return true
	})
	return text
}
