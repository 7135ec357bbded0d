package views

import "github.com/a-h/templ"

// levelClass colours the word of a level; the word says the same.
func (t LogTone) levelClass() string {
	switch t {
	case LogQuiet:
		return "text-faint"
	case LogWarn:
		return "text-amber"
	case LogBad:
		return "text-red"
	case LogWorst:
		return "text-red font-semibold"
	default:
		return "text-muted"
	}
}

// lineClass colours the message of a grave line.
func (t LogTone) lineClass() string {
	switch t {
	case LogWarn:
		return "log-warn"
	case LogBad, LogWorst:
		return "log-error"
	default:
		return ""
	}
}

// emptyText is what a log without lines says.
func (l JobLog) emptyText() string {
	switch {
	case l.Part:
		return "There are no older lines."
	case len(l.Filters) > 0 && !l.Filters[0].Current:
		return "No line of these levels."
	default:
		return "No agent has written anything yet."
	}
}

// moreLabel names what a line holds beside its beginning.
func (l LogLine) moreLabel() string {
	if l.Whole != "" {
		return "all of it"
	}
	return "details"
}

// currentChoice marks the choice in force.
func currentChoice(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}
