package audit

import "slices"

// MaxFindings is how many findings a report keeps; it counts all of them.
const MaxFindings = 100

// Report is what a check found.
type Report struct {
	Workspaces int
	Jobs       int // looked at
	Checks     []Check
	Findings   []Finding // the first MaxFindings
}

// Check counts what one rule found.
type Check struct {
	Name  string
	About string // what has to hold
	Found int
}

// Finding is one job that breaks a rule.
type Finding struct {
	Check     string
	Workspace string // slug
	Job       string // key
	Detail    string // what differs
}

// Found returns how often a rule was broken.
func (r Report) Found() int {
	n := 0
	for _, c := range r.Checks {
		n += c.Found
	}
	return n
}

// note records that a job breaks a rule; an empty detail says that it does not.
func (r *Report) note(check, workspace, job, detail string) {
	if detail == "" {
		return
	}
	r.Checks[slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == check })].Found++
	if len(r.Findings) < MaxFindings {
		r.Findings = append(r.Findings, Finding{Check: check, Workspace: workspace, Job: job, Detail: detail})
	}
}
