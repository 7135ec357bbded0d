// Package client is the client side of Fleetboard, a folder for each part. They speak to a
// server through package api, as the fleet command in a version; they know no database and
// nothing of the server's inside.
package client
