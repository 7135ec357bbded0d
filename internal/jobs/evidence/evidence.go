// Package evidence reads what is known of work from what was handed in, and says who knows it: the program of a
// verifier that has seen the commit, or the author. Of no text in it anything is obeyed.
package evidence

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
)

// FromVerdict returns what is known of a commit by the verdict of by. wanted is the check of the product.
func FromVerdict(v verdict.Verdict, by, commit, wanted string) autoapprove.Facts {
	f := autoapprove.Facts{Commit: commit, Verdict: v.Verdict, By: by, Unmet: v.CountUnmet(), Worst: v.Worst(), Wanted: wanted}
	if v.Seen == nil {
		f.Change.Unread = []string{"its verifier does not say what the commit changes"}
		return f
	}
	f.Change = autoapprove.Read(v.Seen.Diff)
	for _, c := range v.Seen.Checks {
		f.Checks = append(f.Checks, autoapprove.Check(c))
	}
	return f
}

// handedIn is what a worker says of the work of its agent. Any agent can say as much.
type handedIn struct {
	Commit    string `json:"commit"`
	Diff      string `json:"diff"`
	Shown     *bool  `json:"whole_diff_shown"`
	Stored    *bool  `json:"whole_diff_stored"`
	Files     *int   `json:"files_changed"`
	Added     *int   `json:"insertions"`
	Deleted   *int   `json:"deletions"`
	Conflicts any    `json:"conflict_markers"`
	Missing   any    `json:"large_files_missing"`
	Unnamed   any    `json:"files_not_named"`
}

// checked is what the names of checks begin with in the result of work.
const checked = "check: "

// FromResult returns what the author of work says of it.
func FromResult(result json.RawMessage, wanted string) autoapprove.Facts {
	var said handedIn
	f := autoapprove.Facts{Wanted: wanted}
	if err := json.Unmarshal(result, &said); err != nil {
		f.Change.Unread = []string{"what was handed in cannot be read"}
		return f
	}
	f.Commit, f.Change, f.Checks = said.Commit, autoapprove.Read(said.Diff), readChecks(result)
	isFalse := func(b *bool) bool { return b != nil && !*b }
	differs := func(n *int, m int) bool { return n != nil && *n != m }
	switch {
	case isFalse(said.Shown) || isFalse(said.Stored) || said.Unnamed != nil:
		f.Change.Unread = append(f.Change.Unread, "its patch was cut")
	case differs(said.Files, len(f.Change.Paths)),
		said.Added != nil && said.Deleted != nil && *said.Added+*said.Deleted != f.Change.Lines:
		f.Change.Unread = append(f.Change.Unread, "its figures are not those of its patch")
	}
	if said.Conflicts != nil || said.Missing != nil {
		f.Change.Unread = append(f.Change.Unread, "it has markers of conflicts, or lacks large files")
	}
	return f
}

// readChecks returns the checks that a result names, in their order.
func readChecks(result json.RawMessage) (list []autoapprove.Check) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(result, &all) // it was read before
	for name, value := range all {
		if command, ok := strings.CutPrefix(name, checked); ok {
			list = append(list, autoapprove.Check{Command: command, Passed: string(value) == "true"})
		}
	}
	slices.SortFunc(list, func(a, b autoapprove.Check) int { return strings.Compare(a.Command, b.Command) })
	return list
}
