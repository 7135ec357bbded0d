// Package edge is what every request passes on its way to pages, API, files and
// numbers: the names that the server answers to, and the security headers.
package edge
