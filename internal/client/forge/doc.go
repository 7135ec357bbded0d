// Package forge opens, follows and merges pull requests, at GitHub and GitHub Enterprise and
// at Gitea and Forgejo. It names the commit that it merges each time, so nothing else is
// merged. It waits for nothing: a refusal says whether, and when, another call may bring
// another answer.
package forge
