package views

import "fleetboard/views/ui"

// squares are the five marks beside a file: how much of the change was added.
func (f ChangedFile) squares() [5]string {
	var marks [5]string
	all := f.Added + f.Deleted
	for i := range marks {
		switch {
		case all == 0:
			marks[i] = "sq-n"
		case i*all < f.Added*5:
			marks[i] = "sq-a"
		default:
			marks[i] = "sq-d"
		}
	}
	return marks
}

func (l DiffLine) mark() string {
	switch l.Kind {
	case DiffAdded:
		return "+"
	case DiffDeleted:
		return "−"
	default:
		return ""
	}
}

// firstOpen is the file whose lines are shown at once: the first that has any.
func (c Changes) firstOpen() int {
	for i, f := range c.Files {
		if len(f.Lines) > 0 {
			return i
		}
	}
	return -1
}

func (c Changes) note() string {
	if c.Count == 0 {
		return ""
	}
	if c.Count == 1 {
		return "1 file"
	}
	return ui.Count(c.Count) + " files"
}

func (f Finding) icon() string {
	switch f.Tone {
	case ui.OK:
		return "circle-check"
	case ui.Warn, ui.Bad:
		return "triangle-alert"
	default:
		return "info"
	}
}

// checked is a state of a check mark, in words that ARIA knows.
func (c Criterion) checked() string { return boolText(c.Met) }

// wanted is what pressing the criterion makes of it.
func (c Criterion) wanted() string { return boolText(!c.Met) }
