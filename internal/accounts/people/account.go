package people

import (
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Account is a person.
type Account struct {
	ID    ids.ID
	Email string
	Name  string
}
