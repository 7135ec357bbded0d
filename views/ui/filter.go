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

// FilterMenu is a menu of links. Where a filter takes several values each link adds one, or takes
// one away that is on.
type FilterMenu struct {
	ID      string
	Label   string
	Options []FilterOption
}

// HiddenField is a hidden field of a form.
type HiddenField struct{ Name, Value string }
