package fleet

const (
	// OpensPullRequests is the capability of agents that can open a pull request at a forge.
	OpensPullRequests = "pull_request"
	// MaxFollowed is how many pull requests an agent may follow at a time, beside the jobs on
	// its seats. Whoever follows so many is given no further ones.
	MaxFollowed = 100
)
