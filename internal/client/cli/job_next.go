package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// result is what agents hand in, as far as it is shown.
type result struct {
	Branch       string `json:"branch"`
	Commit       string `json:"commit"`
	Summary      string `json:"summary"`
	FilesChanged int    `json:"files_changed"`
	Insertions   int    `json:"insertions"`
	Deletions    int    `json:"deletions"`
}

// readResult reads the result of a job. One of another form has nothing that is shown.
func readResult(job api.Job) result {
	var r result
	if json.Unmarshal(job.Result, &r) != nil {
		return result{}
	}
	return r
}

// changes says how much was changed.
func (r result) changes() string {
	if r.FilesChanged == 0 {
		return ""
	}
	files := "1 file"
	if r.FilesChanged > 1 {
		files = fmt.Sprintf("%d files", r.FilesChanged)
	}
	return fmt.Sprintf("%s, +%d −%d", files, r.Insertions, r.Deletions)
}

// Agents choose the names of branches, so only plain ones stand in lines for a shell.
var (
	plainBranch = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	plainCommit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

// inReach reports whether the work can be named in lines for a shell.
func (r result) inReach() bool {
	return plainBranch.MatchString(r.Branch) && plainCommit.MatchString(r.Commit)
}

// howToGet says how work comes into a clone; nil where there is none.
func howToGet(job api.Job) []string {
	r := readResult(job)
	if !r.inReach() || job.MergedCommit != "" {
		return nil
	}
	return []string{
		"In a clone of " + job.Repo + ":",
		"  git fetch origin " + r.Branch + " && git diff HEAD...FETCH_HEAD",
		"Where it has no origin, the branch is in the clone that the worker offers:",
		"  git diff HEAD..." + r.Branch,
	}
}

// nextSteps say what a person does next with a job, as it stands for the reason why; nil where
// nothing waits for one.
func nextSteps(job api.Job, why api.Explanation) []string {
	fleet := "fleet job "
	switch job.Status {
	case api.JobStatusInReview:
		return []string{"It waits for your decision: look at it with `" + fleet + "show " + job.Key + "`, and then",
			"  " + fleet + "approve " + job.Key, "  " + fleet + "reject " + job.Key + ` --reason "…"`}
	case api.JobStatusBlocked:
		if job.Question != "" && job.Answer == "" {
			return []string{"It asks: " + job.Question, "  " + fleet + "answer " + job.Key + ` "…"`}
		}
		return []string{"It is parked until a person lets it go on:", "  " + fleet + "unblock " + job.Key}
	case api.JobStatusPaused:
		return []string{"It goes on when a person wants it:", "  " + fleet + "resume " + job.Key}
	case api.JobStatusApproved:
		return mergeSteps(job, why)
	case api.JobStatusFailed:
		return []string{"  " + fleet + "logs " + job.Key, "  " + fleet + "retry " + job.Key}
	case api.JobStatusReady:
		if len(why.EligibleFactories) == 0 && len(why.Reasons) > 0 {
			return []string{why.Reasons[0].Detail, "  " + fleet + "explain " + job.Key}
		}
	case api.JobStatusCompleted:
		if howToGet(job) != nil {
			return []string{"Its work is on a branch; how to get it says", "  " + fleet + "show " + job.Key}
		}
	}
	return nil
}

// mergeSteps say who merges approved work and, where that is a person, how.
func mergeSteps(job api.Job, why api.Explanation) []string {
	var steps []string
	for _, one := range why.Reasons {
		steps = append(steps, one.Detail)
		if one.Who != nil && *one.Who != api.ReasoningWhoPerson || one.How != nil && *one.How == api.ReasoningHowNothing {
			return steps
		}
	}
	if r := readResult(job); r.inReach() {
		steps = append(steps,
			"In a clone of "+job.Repo+", on the branch that it goes into:",
			"  git fetch origin "+r.Branch+"  # not where it has no origin: the branch is there",
			"  git merge "+r.Commit,
			"  git push  # not where it has no origin")
	}
	return append(steps, "  fleet job merge "+job.Key+` --commit "$(git rev-parse HEAD)"  # says that it is merged`)
}

// explained are the statuses in which what comes next depends on more than the job.
var explained = of("ready", "approved")

// next returns what a person does next with a job. What cannot be found out is left out.
func (c *cli) next(ctx context.Context, server *api.Client, job api.Job) []string {
	var why api.Explanation
	for _, one := range explained {
		if one != job.Status {
			continue
		}
		var err error
		if _, why, err = readInto[api.Explanation](server.ExplainJob(ctx, job.Key)); err != nil {
			return nil
		}
	}
	return nextSteps(job, why)
}

// printSteps prints steps below a heading, or indented without one.
func printSteps(w io.Writer, heading string, steps []string) {
	if len(steps) > 0 && heading != "" {
		fmt.Fprintf(w, "\n%s\n", heading)
	}
	for _, step := range steps {
		indent := "  " + step[:len(step)-len(strings.TrimLeft(step, " "))]
		fmt.Fprintln(w, indent+cleanLine(step))
	}
}

// linkName returns what the address of work is called.
func linkName(address string) string {
	at, err := url.Parse(address)
	if err == nil && (strings.Contains(at.Path, "/pull/") || strings.Contains(at.Path, "/pulls/")) {
		return "pull request"
	}
	return "url"
}
