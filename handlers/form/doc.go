// Package form reads, fills, checks and refuses forms by one table of their fields. A Table
// says of each field its name, its label, its limits and where it stands in the value that the
// form edits; the page shows the ui.Form that the table makes.
package form
