package ui

func (t Tone) noteClass() string {
	switch t {
	case Warn:
		return "note-warn"
	case Bad:
		return "note-bad"
	default:
		return "note-info"
	}
}

func (t Tone) icon() string {
	switch t {
	case OK:
		return "circle-check"
	case Warn:
		return "undo-2"
	case Bad:
		return "octagon-alert"
	default:
		return "info"
	}
}

func (t Tone) textClass() string {
	switch t {
	case OK:
		return "text-green"
	case Warn:
		return "text-amber"
	case Bad:
		return "text-red"
	default:
		return "text-faint"
	}
}

// TextClass returns the class of text in this tone: "warn", "bad" or none.
func (t Tone) TextClass() string {
	if t == Warn || t == Bad {
		return string(t)
	}
	return ""
}

func (t Tone) role() string {
	if t == Bad {
		return "alert"
	}
	return "status"
}

// IconTone returns the class of an icon beside text that says the same.
func IconTone(t Tone) string {
	switch t {
	case OK:
		return "text-green"
	case Warn:
		return "text-amber"
	case Bad:
		return "text-red"
	default:
		return "text-faint"
	}
}
