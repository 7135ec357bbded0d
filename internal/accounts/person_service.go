package accounts

import (
	"fleetboard/db"
)

// personService holds what people see and change of their own accounts.
type personService struct{ db *db.DB }

// newPersonService returns the service.
func newPersonService(d *db.DB) *personService { return &personService{db: d} }
