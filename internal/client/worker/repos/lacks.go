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
func (i index) lacks(ctx context.Context, commit string) (said []string, err error) {
	filtered, err := i.filtered(ctx, commit)
	if err != nil {
		return nil, err
	}
	for _, filter := range slices.Sorted(maps.Keys(filtered)) {
		names := filtered[filter]
		switch {
		case filter != "lfs":
			said = append(said, fmt.Sprintf("The filter %s is not run by the worker, so these files are as git stores them, "+
				"and are handed in so: %s.", filter, listed(names)))
		case len(pointersIn(i.dir, names)) > 0:
			why := "the origin does not give the contents"
			if !i.w.mirror.network().hasLargeFiles() {
				why = "Git LFS is not set up on this host"
			}
			said = append(said, fmt.Sprintf("These files of Git LFS are pointers only, since %s: %s.",
				why, listed(pointersIn(i.dir, names))))
		}
	}
	return said, nil
}

// filtered returns the files of a commit by the filter that its attributes want.
func (i index) filtered(ctx context.Context, commit string) (map[string][]string, error) {
	if !i.ok(ctx, "grep", "--quiet", "--cached", "--fixed-strings", "-e", "filter=", "--", ":(glob)**/.gitattributes") {
		return nil, nil
	}
	names, err := i.run(ctx, "ls-tree", "-r", "-z", "--name-only", commit)
	if err != nil {
		return nil, err
	}
	i.stdin = strings.NewReader(names)
	list, err := i.run(ctx, "check-attr", "--cached", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	said := strings.Split(list, "\x00")
	for n := 0; n+2 < len(said); n += 3 { // name, attribute, value
		if value := said[n+2]; value != "unspecified" && value != "unset" && value != "set" && value != "" {
			found[value] = append(found[value], said[n])
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
