package actions

import (
	"github.com/fleetboard/fleetboard/db/dbsqlc"
)

var q = dbsqlc.New()
