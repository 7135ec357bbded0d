// Package client talks to a Fleetboard server, for the fleet command and its worker: the
// calls are those of the package api, and an answer that refuses is an
// error. It knows no database and nothing of the server's inside.
package client
