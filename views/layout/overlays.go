package layout

type keyGroup struct {
	title string
	keys  []keyLine
}

type keyLine struct {
	does string
	keys []string
}

// keyHelp lists what static/js/keys.js listens to.
func keyHelp(s Shell) []keyGroup {
	anywhere := []keyLine{
		{"Search or jump to", []string{"⌘", "K"}},
		{"Search on this page", []string{"/"}},
		{"Board", []string{"G", "B"}},
		{"Needs you", []string{"G", "N"}},
		{"Review", []string{"G", "R"}},
		{"Agents", []string{"G", "A"}},
		{"Timeline", []string{"G", "T"}},
		{"Messages", []string{"G", "M"}},
		{"Settings", []string{"G", "S"}},
		{"Send the form", []string{"⌘", "↵"}},
		{"This list", []string{"?"}},
	}
	if s.CanWrite {
		anywhere = append([]keyLine{{"New job", []string{"C"}}, {"Undo, while it is offered", []string{"Z"}}}, anywhere...)
	}
	groups := []keyGroup{{"Anywhere", anywhere}}
	if s.Section == SectionBoard {
		keys := []keyLine{
			{"Next, previous card", []string{"J", "K"}},
			{"Column left, right", []string{"H", "L"}},
			{"Open the card", []string{"↵"}},
			{"Menu of the card", []string{"M"}},
			{"Move, in the menu", []string{"1", "–", "6"}},
		}
		if s.CanWrite {
			keys = append(keys, keyLine{"Edit the card's job", []string{"E"}},
				keyLine{"Ready card down, up its column", []string{"⇧ J", "⇧ K"}})
		}
		groups = append(groups, keyGroup{"On the board", keys})
	}
	if s.Section == SectionJob && s.CanWrite {
		groups = append(groups, keyGroup{"On a job's page", []keyLine{{"Edit the job", []string{"E"}}}})
	}
	if s.Section == SectionReview {
		groups = append(groups, keyGroup{"In the review", reviewKeys(s.CanWrite)})
	}
	return groups
}

func reviewKeys(canWrite bool) []keyLine {
	keys := []keyLine{
		{"Next, previous job", []string{"J", "K"}},
		{"Open the job", []string{"O"}},
	}
	if canWrite {
		keys = append(keys, keyLine{"Approve", []string{"A"}}, keyLine{"Reject", []string{"R"}},
			keyLine{"Comment on a line", []string{"M"}})
	}
	return keys
}
