package settings

import (
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// AuditPage is the page of who did what in settings.
type AuditPage struct {
	Shell layout.Shell
	Audit Audit
}

// Audit is a part of what people did in settings, the newest first.
type Audit struct {
	Groups []ui.FilterOption // kinds, one of them selected
	Group  string            // the selected one's name, "" for all
	Actor  string            // what the field of the filter holds
	Active []ui.ActiveFilter
	Older  bool   // it is not the newest part
	NewURL string // the newest part with the same filter
	Items  events.Items
	Empty  *ui.Empty // set where nothing is shown
}
