package notifications

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
)

// The pages that messages lead to, beside those of decisions.
const (
	needsPath    = "/needs-you"
	settingsPath = "/settings/notifications"
)

// maxListed is how many decisions a digest names.
const maxListed = 20

// subject returns the one line that a parcel is about.
func (p parcel) subject() string {
	if len(p.items) == 1 {
		return p.items[0].line()
	}
	open := 0
	for _, i := range p.items {
		if !i.closed {
			open++
		}
	}
	switch open {
	case 0:
		return fmt.Sprintf("%d decisions were made", len(p.items))
	case 1:
		return "1 decision waits for you"
	}
	return fmt.Sprintf("%d decisions wait for you", open)
}

// line returns what an item says first.
func (i item) line() string {
	if i.closed {
		return i.outcome
	}
	return i.decision.title
}

// detail returns what an item says more.
func (i item) detail() string {
	switch {
	case i.closed:
		return ""
	case i.from != "":
		return strings.TrimSpace(i.decision.detail + " " + i.from + " did not decide in time.")
	}
	return i.decision.detail
}

// letter is what a text and a page of HTML are made of.
type letter struct {
	Subject  string
	Items    []line
	More     int
	NeedsURL string
	Settings string
}

type line struct{ Text, Detail, URL string }

func (s *Service) letter(p parcel) letter {
	l := letter{Subject: p.subject(), NeedsURL: s.link(needsPath), Settings: s.link(settingsPath)}
	for n, i := range p.items {
		if n == maxListed {
			l.More = len(p.items) - n
			break
		}
		l.Items = append(l.Items, line{i.line(), i.detail(), i.url})
	}
	return l
}

// text returns a letter as plain text.
func (l letter) text() string {
	var b strings.Builder
	for _, i := range l.Items {
		fmt.Fprintln(&b, i.Text)
		if i.Detail != "" {
			fmt.Fprintln(&b, i.Detail)
		}
		fmt.Fprintf(&b, "%s\n\n", i.URL)
	}
	if l.More > 0 {
		fmt.Fprintf(&b, "And %d more: %s\n\n", l.More, l.NeedsURL)
	}
	fmt.Fprintf(&b, "-- \nTo get fewer of these, or none: %s\n", l.Settings)
	return b.String()
}

var letterPage = template.Must(template.New("letter").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="font-family: system-ui, sans-serif; line-height: 1.5; max-width: 36rem; margin: 1rem auto; padding: 0 1rem">
{{range .Items}}<p><b>{{.Text}}</b>{{if .Detail}}<br>{{.Detail}}{{end}}<br><a href="{{.URL}}">{{.URL}}</a></p>
{{end}}{{if .More}}<p>And {{.More}} more: <a href="{{.NeedsURL}}">{{.NeedsURL}}</a></p>
{{end}}<p style="color: #666"><small>To get fewer of these, or none: <a href="{{.Settings}}">{{.Settings}}</a></small></p>
</body></html>
`))

// html returns a letter as a page. What others have written is escaped.
func (l letter) html() (string, error) {
	var b bytes.Buffer
	err := letterPage.Execute(&b, l)
	return b.String(), err
}
