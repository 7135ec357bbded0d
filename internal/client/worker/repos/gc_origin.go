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

// originBranches are the branches at an origin with names that workers give.
type originBranches struct {
	*mirror
	tips map[string]string // their commits
	head string            // the branch that the origin's HEAD names
	// ended are, by branch, the attempts on jobs that ended long enough ago. A branch of a pull
	// request has those of its job.
	ended map[string][]EndedBranch
}

// planOrigin lists the branches at the origin that workers of this server made, of jobs that
// ended long enough ago, and that nobody else has touched since. Work that a job was completed
// with stays until it is merged.
func (g cleanup) planOrigin(ctx context.Context, m *mirror) ([]removal, error) {
	if g.Ended == nil || m.push == "" {
		return nil, nil
	}
	there := &originBranches{mirror: m}
	if err := there.read(ctx); err != nil || len(there.tips) == 0 {
		return nil, err
	}
	if err := there.findEnded(ctx, g.Ended); err != nil || len(there.ended) == 0 {
		return nil, err
	}
	var planned []removal
	for _, branch := range slices.Sorted(maps.Keys(there.tips)) {
		if branch == there.head || branch == m.knownDefault() {
			continue
		}
		if why := there.whyDone(ctx, branch); why != "" {
			planned = append(planned, removal{Removal{"branch " + branch + " at the origin of " + m.name, why},
				func(ctx context.Context) (bool, error) {
					if there.whyDone(ctx, branch) == "" {
						return false, nil // the default branch was set back meanwhile
					}
					return there.drop(ctx, branch)
				}})
		}
	}
	return planned, nil
}

// read reads the branches and their commits.
func (o *originBranches) read(ctx context.Context) error {
	said, err := o.network().run(ctx, "ls-remote", "--quiet", "--symref", "--end-of-options", o.push, "HEAD",
		ours+branchPrefix+"*", ours+asidePrefix+"*")
	o.tips = map[string]string{}
	for line := range strings.Lines(said) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if at, symbolic := strings.CutPrefix(commit, "ref: "+ours); symbolic && name == "HEAD" {
			o.head = at
		}
		if branch, ok := strings.CutPrefix(name, ours); ok && goodBranch(branch) && isHash.MatchString(commit) && isOurs(branch) {
			o.tips[branch] = commit
		}
	}
	return err
}

// findEnded reads from the server which of the branches are of jobs that ended long enough ago.
func (o *originBranches) findEnded(ctx context.Context, read func(context.Context, string, []string) ([]EndedBranch, error)) error {
	var keys []string
	for branch := range o.tips {
		keys = append(keys, parseKeys(branch)...)
	}
	slices.Sort(keys)
	o.ended = map[string][]EndedBranch{}
	for part := range slices.Chunk(slices.Compact(keys), maxAsked) {
		list, err := read(ctx, o.name, part)
		if err != nil {
			return err
		}
		byJob := map[string][]EndedBranch{}
		for _, e := range list {
			byJob[e.ID] = append(byJob[e.ID], e)
		}
		for _, e := range list {
			names := []string{branchPrefix + Attempt{Job: e.Job, ID: e.ID, Epoch: e.Epoch}.Name(),
				asidePrefix + badInName.ReplaceAllString(e.Job, "_")}
			for _, name := range names {
				if o.tips[name] != "" {
					o.ended[name] = byJob[e.ID]
				}
			}
		}
	}
	return nil
}

// whyDone is why a branch of the origin is needed no more, "" where it is, or where what is
// there is not what an attempt of the job left.
func (o *originBranches) whyDone(ctx context.Context, branch string) string {
	of, tip := o.ended[branch], o.tips[branch]
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
	case o.isContained(ctx, branch):
		return fmt.Sprintf("%s ended on %s, and its work is in %s", job, day, o.knownDefault())
	}
	return ""
}

// isContained reports whether the default branch has all of a branch's work: its commit itself,
// or everything that it changes, such as after a squash. Where nobody knows it is not so.
func (o *originBranches) isContained(ctx context.Context, branch string) bool {
	commit := o.tips[branch]
	into := theirs + o.knownDefault()
	unlock, err := o.lock(ctx)
	if err != nil {
		return false
	}
	defer unlock()
	if o.knownDefault() == "" {
		return false
	}
	for _, name := range []string{o.knownDefault(), branch} {
		if err := o.fetchBranch(ctx, name); err != nil {
			return false
		}
	}
	if !o.has(ctx, commit) {
		return false
	}
	return contains(ctx, o.git(), into, commit)
}

// drop removes a branch there if it still is what was read. It reports false where it is
// not, or where the origin keeps it.
func (o *originBranches) drop(ctx context.Context, branch string) (bool, error) {
	err := refusal(o.network().do(ctx, "push", "--quiet", "--no-verify", "--force-with-lease="+ours+branch+":"+o.tips[branch],
		"--end-of-options", o.push, ":"+ours+branch))
	if errors.Is(err, ErrRefused) {
		o.log.Info("the origin keeps a branch of a job that has ended: "+err.Error(), "branch", branch)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_ = o.git().do(ctx, "update-ref", "-d", theirs+branch) // the next fetch does the same
	return true, nil
}
