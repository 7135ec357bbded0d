// Package history shows events: what happened in words, who did it, and the lines of the timeline and the audit.
package history
