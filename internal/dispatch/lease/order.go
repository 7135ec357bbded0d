package lease

// Order is what a worker is to do with a job of a system kind. It is made from the system's
// own rows as the job is claimed; no text of the job is one.
type Order struct {
	Merge *MergeOrder
}

// MergeOrder has approved work merged.
type MergeOrder struct {
	Job    string // the key of the job whose work it is
	Title  string // of that job
	URL    string // of its page; "" where nobody said where people reach the server
	By     string // jobs.MergeByWorker or jobs.MergeByPullRequest
	Commit string // that was approved
	Branch string // that it was handed in on
	Into   string // the branch; "" is the repository's default one
	Method string // jobs.MergeCommit or jobs.MergeFastForward
	Checks string // a command that the merged work must pass; "" is none
	// Opened is the pull request that an earlier merge of the work opened, nil where none did.
	Opened *OpenedPullRequest
}

// OpenedPullRequest is one that was opened of earlier work on the job.
type OpenedPullRequest struct {
	Number int
	Branch string // that it comes from
	Commit string // that was approved then
}
