// Package usage reports what models were used for: sums in groups, and the entries
// themselves.
//
// Sums are made of those by the hour (usage_hour), which the transaction that records an
// entry raises, so no report scans entries. A period is therefore made of whole hours, in
// UTC. An entry that is raised later counts in the hour in which it was reported.
package usage
