package repos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// EndedBranch is the branch of an attempt on a job that ended so long ago that the origin
// needs it no more, as the server says.
type EndedBranch struct {
	Job, ID string
	Epoch   int64
	// Commit is what the attempt left, "" where nobody said.
	Commit string
	// Merged: the job's work was merged, as whatever commit. Unmerged: it was completed with
	// the work of this attempt, and nobody has said that it was merged.
	Merged, Unmerged bool
	Approved         string // the commit that was approved last, "" for none
	EndedAt          time.Time
}

const (
	// maxAsked is about how many jobs one call to the server is about.
	maxAsked = 500
	// maxUnderscores is how many characters of a branch's name may stand for others of a key.
	maxUnderscores = 4
)

// branchOf finds the parts of the name of an attempt's branch.
var branchOf = regexp.MustCompile(`^` + branchPrefix + `(.+)-[0-9a-f]{8}-e[0-9]+$`)

// parseKeys returns the keys of jobs that a branch may be of: what a name may not hold was written
// as _.
func parseKeys(branch string) []string {
	name, aside := strings.CutPrefix(branch, asidePrefix)
	if found := branchOf.FindStringSubmatch(branch); found != nil {
		name = found[1]
	} else if !aside {
		return nil
	}
	if strings.Count(name, "_") > maxUnderscores {
		return nil
	}
	keys := []string{""}
	for _, c := range name {
		options := string(c)
		if c == '_' {
			options = "_./@"
		}
		var longer []string
		for _, key := range keys {
			for _, o := range options {
				longer = append(longer, key+string(o))
			}
		}
		keys = longer
	}
	return keys
}

// planOrigin lists the branches at the origin that workers of this server made, of jobs that
// ended long enough ago, and that nobody else has touched since. Work that a job was completed
// with stays until it is merged.
func (r *Repos) planOrigin(ctx context.Context, m *mirror, o GCOptions) ([]removal, error) {
	if o.Ended == nil || m.push == "" {
		return nil, nil
	}
	tips, head, err := m.branchesAtOrigin(ctx)
	if err != nil || len(tips) == 0 {
		return nil, err
	}
	ended, err := m.ended(ctx, o, tips)
	if err != nil || len(ended) == 0 {
		return nil, err
	}
	var planned []removal
	for _, branch := range slices.Sorted(maps.Keys(tips)) {
		tip := tips[branch]
		if branch == head || branch == m.knownDefault() {
			continue
		}
		if why := m.whyDone(ctx, branch, tip, ended); why != "" {
			planned = append(planned, removal{Removal{"branch " + branch + " at the origin of " + m.name, why},
				func(ctx context.Context) (bool, error) {
					if m.whyDone(ctx, branch, tip, ended) == "" {
						return false, nil // the default branch was set back meanwhile
					}
					return m.dropAtOrigin(ctx, branch, tip)
				}})
		}
	}
	return planned, nil
}

// branchesAtOrigin returns the branches there with names that workers give, with their commits,
// and the branch that its HEAD names.
func (m *mirror) branchesAtOrigin(ctx context.Context) (tips map[string]string, head string, err error) {
	said, err := m.network().run(ctx, "ls-remote", "--quiet", "--symref", "--end-of-options", m.push, "HEAD",
		ours+branchPrefix+"*", ours+asidePrefix+"*")
	tips = map[string]string{}
	for line := range strings.Lines(said) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if at, symbolic := strings.CutPrefix(commit, "ref: "+ours); symbolic && name == "HEAD" {
			head = at
		}
		if branch, ok := strings.CutPrefix(name, ours); ok && goodBranch(branch) && isHash.MatchString(commit) && isOurs(branch) {
			tips[branch] = commit
		}
	}
	return tips, head, err
}

// ended returns which of the branches are of jobs that ended long enough ago: their attempts, by
// branch. A branch of a pull request has those of its job.
func (m *mirror) ended(ctx context.Context, o GCOptions, tips map[string]string) (map[string][]EndedBranch, error) {
	var keys []string
	for branch := range tips {
		keys = append(keys, parseKeys(branch)...)
	}
	slices.Sort(keys)
	byBranch := map[string][]EndedBranch{}
	for part := range slices.Chunk(slices.Compact(keys), maxAsked) {
		list, err := o.Ended(ctx, m.name, part)
		if err != nil {
			return nil, err
		}
		byJob := map[string][]EndedBranch{}
		for _, e := range list {
			byJob[e.ID] = append(byJob[e.ID], e)
		}
		for _, e := range list {
			names := []string{branchPrefix + Attempt{Job: e.Job, ID: e.ID, Epoch: e.Epoch}.Name(),
				asidePrefix + badInName.ReplaceAllString(e.Job, "_")}
			for _, name := range names {
				if tips[name] != "" {
					byBranch[name] = byJob[e.ID]
				}
			}
		}
	}
	return byBranch, nil
}

// whyDone is why a branch of the origin is needed no more, "" where it is, or where what is
// there is not what an attempt of the job left.
func (m *mirror) whyDone(ctx context.Context, branch, tip string, ended map[string][]EndedBranch) string {
	of := ended[branch]
	left := slices.ContainsFunc(of, func(e EndedBranch) bool { return e.Commit == tip || e.Approved == tip })
	if !left {
		return ""
	}
	job, day := of[0].Job, of[0].EndedAt.UTC().Format(time.DateOnly)
	unmerged := slices.ContainsFunc(of, func(e EndedBranch) bool { return e.Unmerged && e.Commit == tip })
	switch {
	case of[0].Merged:
		return fmt.Sprintf("%s ended on %s, and its work is merged", job, day)
	case !unmerged:
		return fmt.Sprintf("%s ended on %s without this work", job, day)
	case m.isContained(ctx, branch, tip):
		return fmt.Sprintf("%s ended on %s, and its work is in %s", job, day, m.knownDefault())
	}
	return ""
}

// isContained reports whether the default branch has all of a commit's work: the commit itself,
// or everything that it changes, such as after a squash. Where nobody knows it is not so.
func (m *mirror) isContained(ctx context.Context, branch, commit string) bool {
	into := theirs + m.knownDefault()
	unlock, err := m.lock(ctx)
	if err != nil || m.knownDefault() == "" {
		return false
	}
	defer unlock()
	for _, name := range []string{m.knownDefault(), branch} {
		if err := m.fetchBranch(ctx, name); err != nil {
			return false
		}
	}
	if !m.git().ok(ctx, "cat-file", "-e", commit+"^{commit}") {
		return false
	}
	if m.git().ok(ctx, "merge-base", "--is-ancestor", commit, into) {
		return true
	}
	merged, err := m.git().run(ctx, "merge-tree", "--write-tree", into, commit)
	if err != nil {
		return false
	}
	before, err := m.git().run(ctx, "rev-parse", into+"^{tree}")
	return err == nil && merged == before
}

// dropAtOrigin removes a branch there if it is still the commit. It reports false where it is
// not, or where the origin keeps it.
func (m *mirror) dropAtOrigin(ctx context.Context, branch, commit string) (bool, error) {
	err := refusal(m.network().do(ctx, "push", "--quiet", "--no-verify", "--force-with-lease="+ours+branch+":"+commit,
		"--end-of-options", m.push, ":"+ours+branch))
	if errors.Is(err, ErrRefused) {
		m.log.Info("the origin keeps a branch of a job that has ended: "+err.Error(), "branch", branch)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_ = m.git().do(ctx, "update-ref", "-d", theirs+branch) // the next fetch does the same
	return true, nil
}
