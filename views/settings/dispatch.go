package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// DispatchPage is the form of how jobs are given out.
type DispatchPage struct {
	Shell      layout.Shell
	Form       ui.Form
	Products   []DispatchProduct
	Modes      []ui.Option
	ChangesURL string
}

// DispatchProduct is a product and the field of its weight.
type DispatchProduct struct{ Name, Field string }
