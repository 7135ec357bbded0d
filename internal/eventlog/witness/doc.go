// Package witness keeps outside the database which events were in it lately, and names those that a
// database lacks: a standby that was promoted without the last second, a backup, a copy.
//
// Each server reads the new events of each log a quarter of a second after it was woken, and appends
// their ids, times, types and jobs to a file of its data directory, signed with the server's key. The
// file and the one before it hold about a hundred thousand events. Marks of seals (package seal) say
// that a log was cut; the witness says what was in the part that is gone, also in the newest seconds,
// which no block covers yet.
package witness
