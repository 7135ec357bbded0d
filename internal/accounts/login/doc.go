// Package login checks passwords: at log-in, before changes of what protects an
// account, and when they change. It notes log-ins, and shows those from an unknown
// browser or network to the person's other sessions.
package login
