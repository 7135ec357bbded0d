package job

import "github.com/fleetboard/fleetboard/internal/screens"

// ColumnTitles are the headings of the board's columns.
var ColumnTitles = map[screens.Column]string{
	screens.Waiting: "Waiting", screens.Ready: "Ready", screens.Running: "Running",
	screens.Review: "Review", screens.Done: "Done", screens.Failed: "Failed",
}
