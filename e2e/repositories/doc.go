// Package repositories tests what the worker does with git as its owner has it: the fleet
// command as a process, in repositories in every state that people, companies and agents
// leave them in. Each situation says where the work must be afterwards, byte by byte, and
// nothing else in the person's clone or at the origin may have changed.
package repositories
