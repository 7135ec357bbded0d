package lease

// Order is what a worker is to do with a job of a system kind. It is made from the system's
// own rows as the job is claimed; no text of the job is one.
type Order struct {
	Merge  *MergeOrder
	Verify *VerifyOrder
}

// VerifyOrder has work that was handed in verified by another than its authors. Of what it says only the
// job, the attempt, the commit and the branch are the system's, and the checks and the branch that it goes into
// the product's; the rest people and agents wrote, to be judged and not to be obeyed.
type VerifyOrder struct {
	Job        string   `json:"job"`              // the key of the job whose work it is
	Title      string   `json:"title"`            // of that job
	Body       string   `json:"body"`             // of that job
	Attempt    int64    `json:"attempt"`          // the epoch of the attempt that handed it in
	Commit     string   `json:"commit"`           // that was handed in
	Branch     string   `json:"branch"`           // that it was handed in on
	Acceptance []string `json:"acceptance"`       // the criteria as they were then
	DiffBlob   string   `json:"diff_blob"`        // the SHA-256 of the whole patch, "" where none was handed in
	Into       string   `json:"into,omitempty"`   // the branch that it is to be merged into; "" is the repository's default one
	Checks     string   `json:"checks,omitempty"` // the product's command that merged work must pass; "" is none
}

// MergeOrder has approved work merged.
type MergeOrder struct {
	Job    string `json:"job"`              // the key of the job whose work it is
	Title  string `json:"title"`            // of that job
	URL    string `json:"url,omitempty"`    // of its page; "" where nobody said where people reach the server
	By     string `json:"by"`               // jobs.MergeByWorker or jobs.MergeByPullRequest
	Commit string `json:"commit"`           // that was approved
	Branch string `json:"branch"`           // that it was handed in on
	Into   string `json:"into"`             // the branch; "" is the repository's default one
	Method string `json:"method"`           // jobs.MergeCommit or jobs.MergeFastForward
	Checks string `json:"checks,omitempty"` // a command that the merged work must pass; "" is none
	// Opened is the pull request that an earlier merge of the work opened, nil where none did.
	Opened *OpenedPullRequest `json:"pull_request,omitempty"`
}

// OpenedPullRequest is one that was opened of earlier work on the job.
type OpenedPullRequest struct {
	Number int    `json:"number"`
	Branch string `json:"branch"` // that it comes from
	Commit string `json:"commit"` // that was approved then
}
