package spend

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Charge is by how much a usage entry was raised: what the budgets of its job are
// charged. A first telling is a raise from nothing.
type Charge struct {
	Lease

	Product         ids.ID // that it is billed to
	Provider, Model string // that was used
	Phase           string
	At              time.Time // the instant that its budgets' periods go by
	Entry           string    // the id of the usage entry
	Nanos           Nanos     // what was charged more: 0 at a flat rate, and where the price is unknown
	Tokens          int64     // of all kinds
	// Unpriced are those of the tokens whose price is unknown; of Uncosted ones no agent said
	// a cost either.
	Unpriced int64
	Uncosted bool
}
