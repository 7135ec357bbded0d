// Package factory tests the worker as its owner has it: the fleet command as a process, on
// real repositories, against a real server, with real kills.
package factory
