package views

// actions are what asks before it is done to a member.
func (m Member) actions() []Action {
	var list []Action
	for _, a := range []*Action{m.EndSessions, m.Disable, m.Remove} {
		if a != nil {
			list = append(list, *a)
		}
	}
	return list
}

// still reports that nothing can be done to the member here.
func (m Member) still() bool { return len(m.actions()) == 0 && m.EnableURL == "" }
