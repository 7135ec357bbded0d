package jobparts

import "fleetboard/internal/kanban"

// ColumnTitles are the headings of the board's columns.
var ColumnTitles = map[kanban.Column]string{
	kanban.Waiting: "Waiting", kanban.Ready: "Ready", kanban.Running: "Running",
	kanban.Review: "Review", kanban.Done: "Done", kanban.Failed: "Failed",
}
