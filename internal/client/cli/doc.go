// Package cli is the fleet command: what people and scripts do with a Fleetboard server from
// a terminal. It calls the server by its API only. Texts of the server are shown without
// control characters, since agents write them; with --json the API's answers are passed on
// as they came.
package cli
