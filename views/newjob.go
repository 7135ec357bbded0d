package views

import "fleetboard/views/ui"

// optionLabel names an option that went offline with its state.
func optionLabel(o ui.Option) string {
	if o.Offline {
		return ui.Clean(o.Label) + ", not live now"
	}
	return ui.Clean(o.Label)
}

func chosenOffline(options []ui.Option) bool {
	for _, o := range options {
		if o.Selected && o.Offline {
			return true
		}
	}
	return false
}

func (r Routability) repoHint(other string) string {
	if r.RepoHint != "" {
		return r.RepoHint
	}
	return other
}

func (r Routability) factoryHint(other string) string {
	if r.FactoryHint != "" {
		return r.FactoryHint
	}
	return other
}

func (r Routability) icon() string {
	switch r.Tone {
	case ui.OK:
		return "circle-check"
	case ui.Warn, ui.Bad:
		return "unplug"
	default:
		return "server"
	}
}

func (r Routability) footIcon() string {
	if r.FootIcon != "" {
		return r.FootIcon
	}
	return "hourglass"
}

func (f Fit) icon() string {
	switch f.Kind {
	case FitYes:
		return "circle-check"
	case FitSoon:
		return "circle-alert"
	default:
		return "circle-x"
	}
}

func (f Fit) tone() string {
	switch f.Kind {
	case FitYes:
		return "text-green"
	case FitSoon:
		return "text-amber"
	default:
		return "text-faint"
	}
}

func (f Fit) word() string {
	if f.Kind == FitYes {
		return "Can run it"
	}
	return "Cannot run it"
}
