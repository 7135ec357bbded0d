// Package importing brings work from elsewhere to a Fleetboard server: readers of the files
// of other trackers, the difference between a file and the server's jobs, and the calls that
// carry the difference out. Each item knows its source, so the same file may come again.
package importing
