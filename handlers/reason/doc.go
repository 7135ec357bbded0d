// Package reason says why a job does not run, in one sentence and with one icon, for every page that shows it.
package reason
