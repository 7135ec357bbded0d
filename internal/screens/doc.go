// Package screens is the board's read model: columns of cards, why each job that
// does not run does not run, what a person may do with it, and the live changes
// of all that.
package screens
