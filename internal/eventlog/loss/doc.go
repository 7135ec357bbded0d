// Package loss keeps what the log of a workspace lacks that a server had seen in it: events by their
// ids, times, types and jobs, or the block of seals that it was cut before. A loss has an event in the
// log, log.lost, and stands in Needs you until a person has noted it.
package loss
