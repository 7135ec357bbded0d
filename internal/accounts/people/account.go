package people

import (
	"fleetboard/internal/ids"
)

// Account is a person.
type Account struct {
	ID    ids.ID
	Email string
	Name  string
}
