// Package setting is how a workspace gives its jobs out: which product comes next, what a job
// gains by waiting, and what more a person can choose. Claims read it through a Cache.
package setting
