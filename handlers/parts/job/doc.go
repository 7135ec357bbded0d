// Package job is what pages that show a job share: the verbs that a person
// may use on it, its columns, its result, its criteria and what was said about
// it.
package job
