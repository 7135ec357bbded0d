// Package e2e holds the tests that use a server as people and agents do: a real browser, real
// HTTP, a real git repository, a real PostgreSQL, and a real kill -9. startServer gives a test a
// workspace on a server that all tests share; ownServer starts a process of cmd/web.
package e2e
