package repos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxNamed is how many files a sentence names.
const maxNamed = 5

// lacks are sentences about what the checkout of a commit does not have: contents of Git LFS,
// filters. A person, and the agent's log, gets them before the work begins.
func (w *Worktree) lacks(ctx context.Context, commit string) (said []string, err error) {
	filtered, err := w.filtered(ctx, commit)
	if err != nil {
		return nil, err
	}
	for _, filter := range slices.Sorted(maps.Keys(filtered)) {
		names := filtered[filter]
		switch {
		case filter != "lfs":
			said = append(said, fmt.Sprintf("The filter %s is not run by the worker, so these files are as git stores them, "+
				"and are handed in so: %s.", filter, listed(names)))
		case len(pointersIn(w.Dir, names)) > 0:
			why := "the origin does not give the contents"
			if !w.mirror.network().hasLargeFiles() {
				why = "Git LFS is not set up on this host"
			}
			said = append(said, fmt.Sprintf("These files of Git LFS are pointers only, since %s: %s.",
				why, listed(pointersIn(w.Dir, names))))
		}
	}
	return said, nil
}

// filtered returns the files of a commit by the filter that its attributes want.
func (w *Worktree) filtered(ctx context.Context, commit string) (map[string][]string, error) {
	c, err := w.files()
	if err != nil {
		return nil, err
	}
	if !c.ok(ctx, "grep", "--quiet", "--cached", "--fixed-strings", "-e", "filter=", "--", ":(glob)**/.gitattributes") {
		return nil, nil
	}
	names, err := c.run(ctx, "ls-tree", "-r", "-z", "--name-only", commit)
	if err != nil {
		return nil, err
	}
	c.stdin = strings.NewReader(names)
	list, err := c.run(ctx, "check-attr", "--cached", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	said := strings.Split(list, "\x00")
	for i := 0; i+2 < len(said); i += 3 { // name, attribute, value
		if value := said[i+2]; value != "unspecified" && value != "unset" && value != "set" && value != "" {
			found[value] = append(found[value], said[i])
		}
	}
	return found, nil
}

// listed names some of a list of files, and says how many more there are.
func listed(names []string) string {
	text := firstLine(strings.Join(names[:min(len(names), maxNamed)], ", "))
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
