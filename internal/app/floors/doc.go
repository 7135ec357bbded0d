// Package floors holds the table of which package may import which, and the test that keeps it.
package floors
