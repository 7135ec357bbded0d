package ui

import "github.com/a-h/templ"

// CurrentPage marks the link of the page that is shown.
func CurrentPage(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// CurrentItem marks the choice in force.
func CurrentItem(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}
