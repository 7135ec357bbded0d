// Package handlertest is the one set-up for tests of pages: the whole server on a
// real database, browsers that call it, agents that work in another process, and
// what tests say about answers.
//
// A Site is a server with one browser; a Workspace is a Site with a workspace, its owner
// logged in, and agents.
package handlertest
