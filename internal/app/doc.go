// Package app puts the server together: it is the one package that knows every
// other. cmd/web runs it, the browser tests start it.
package app
