package views

import "fleetboard/views/ui"

// AuditPage is the page of who did what in settings.
type AuditPage struct {
	Shell Shell
	Audit Audit
}

// Audit is a part of what people did in settings, the newest first.
type Audit struct {
	Groups []FilterOption // kinds, one of them selected
	Group  string         // the selected one's name, "" for all
	Actor  string         // what the field of the filter holds
	Active []ActiveFilter
	Older  bool   // it is not the newest part
	NewURL string // the newest part with the same filter
	Items  TimelineItems
	Empty  *ui.Empty // set where nothing is shown
}
