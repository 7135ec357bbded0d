package forge

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Forge is a place with repositories and pull requests. Its errors are a *Refusal where it
// answered with one or gave no answer.
type Forge interface {
	// Open opens a pull request, or returns the open one of the same branches.
	Open(ctx context.Context, r Request) (PullRequest, error)
	// Get reads one.
	Get(ctx context.Context, repo Repo, number int) (PullRequest, error)
	// Checks says what the checks of a commit found.
	Checks(ctx context.Context, repo Repo, commit string) (Checks, error)
	// Merge merges a pull request if its head is that commit, and returns the commit that
	// came out. The error is ErrNotYet where the forge wants something first.
	Merge(ctx context.Context, pull PullRequest, commit string, how Method) (merged string, err error)
}

// Repo is a repository of a forge.
type Repo struct{ Owner, Name string }

// Request is a pull request that is to be opened, from the branch Head into Base.
type Request struct {
	Repo        Repo
	Head, Base  string
	Title, Body string
}

// PullRequest is one as it is now.
type PullRequest struct {
	Repo   Repo
	Number int
	URL    string // its page
	Branch string // that it comes from
	Head   string // the newest commit of it
	Base   string // the branch that it goes into
	Open   bool
	// MergedAs is the commit that it was merged as; "" as long as it is not.
	MergedAs string
	// Unfit: the forge does not take it as it is, or has not found out yet. Conflicts are
	// among the reasons.
	Unfit bool
}

// Checks are those of a commit, by name. What is in neither list has passed.
type Checks struct {
	Failed, Pending []string
	Any             bool // there are some
}

// Method is how a pull request is merged.
type Method int

// The methods of a product.
const (
	MergeCommit Method = iota
	FastForward
)

// ErrNotYet is a pull request that the forge does not merge as it is now: reviews or checks
// are wanted, or a branch has moved meanwhile. The error's text says what.
var ErrNotYet = errors.New("it is not merged yet")

// Refusal is what a forge answered instead of doing something.
type Refusal struct { //nolint:errname // it is read as what it is
	Forge  string // its host
	Status int    // of HTTP; 0 where no answer came
	Said   string // a sentence of the forge or, without an answer, what happened
	// Again: another call may bring another answer, After a while.
	Again bool
	After time.Duration
}

// Error says in one sentence what the forge answered.
func (r *Refusal) Error() string {
	if r.Status == 0 {
		return fmt.Sprintf("%s gave no answer that can be read: %s", r.Forge, r.Said)
	}
	return fmt.Sprintf("%s answered %d: %s", r.Forge, r.Status, r.Said)
}
