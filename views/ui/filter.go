package ui

// FilterOption is one link of a FilterMenu.
type FilterOption struct {
	Label    string
	Count    string // how many it leaves, "" where that is not shown
	URL      string
	Selected bool
}

// ActiveFilter is a chip with a cross.
type ActiveFilter struct {
	Text      string // "Priority 3 or more"
	RemoveURL string
}
