// Package score decides which factory suits a job best, and says why: of what it is given alone.
// It reads no database and no clock, so that a decision can be made again from what was stored of
// it.
//
// First it filters: a factory that lacks something of what a job needs, drains, has no free seat or
// may not have jobs of the product is out, and the decision says for want of what. Then each that is
// left gets seven parts, from -1 to 1; its score is their mean, weighed, so from -1 to 1 too. The
// order is by score, then by name: it is the same however the candidates are handed in.
//
// Filtering before scoring, parts of one range and a mean instead of a sum are how the schedulers of
// Kubernetes and Nomad rank their nodes; Fact of each part says what it is computed from.
package score
