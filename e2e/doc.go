// Package e2e holds the tests that start the server as a process of its own and
// use it as people and agents do: a real browser, real HTTP, a real git
// repository, a real PostgreSQL, and a real kill -9.
package e2e
