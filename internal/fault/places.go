package fault

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	repoRule = "It must be the name of a repo, like ledger-api or acme/web: letters, digits and . _ @ - in parts between slashes, " +
		"each beginning with a letter or digit and without .. and .lock."
	fileRule = "It must be a path or a glob inside the repository, like docs/*.md: " +
		"relative, with / between its parts, none of which is empty, ., .. or .git."
)

// drive begins a path of Windows, home one of a shell.
var drive, home = regexp.MustCompile(`^[A-Za-z]:`), regexp.MustCompile(`^~[^/]*/`)

// Repo checks the name of a repository of at most limit characters; an empty one is no
// problem. Hosts make directories and branches of it.
func (p Problems) Repo(field, s string, limit int) {
	p.Name(field, s, limit)
	if s != "" && !isRepo(s) {
		p.Add(field, repoRule)
	}
}

func isRepo(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.HasPrefix(part, "-") || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "@") ||
			strings.HasPrefix(part, "_") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") ||
			strings.Contains(part, "..") {
			return false
		}
	}
	return true
}

// Files checks a list of at most entries paths or globs inside a repository.
func (p Problems) Files(field string, list []string, entries, limit int) {
	p.places(field, list, entries, limit, func(s string) bool {
		s = strings.TrimPrefix(s, "!")
		return isInside(s) && !strings.ContainsRune(s, '\\') && !drive.MatchString(s) && !home.MatchString(s)
	})
}

// TouchedFiles checks a list of at most entries paths inside a repository, as git has them.
func (p Problems) TouchedFiles(field string, list []string, entries, limit int) {
	p.places(field, list, entries, limit, isInside)
}

func (p Problems) places(field string, list []string, entries, limit int, isGood func(string) bool) {
	p.List(field, list, entries, limit)
	if len(list) > entries {
		return
	}
	for i, s := range list {
		if !isGood(s) {
			p.Add(fmt.Sprintf("%s[%d]", field, i), fileRule)
		}
	}
}

// isInside reports whether a path or a glob stays in its repository and is none of git's own.
// What stands in braces counts as parts, too.
func isInside(s string) bool {
	for part := range strings.SplitSeq(strings.TrimSuffix(s, "/"), "/") {
		if part == "" {
			return false
		}
		for piece := range strings.FieldsFuncSeq(part, func(r rune) bool { return strings.ContainsRune("{,}", r) }) {
			if piece == "." || piece == ".." || isGit(piece) {
				return false
			}
		}
	}
	return true
}

// isGit reports whether a file system may take a name for git's own directory.
func isGit(part string) bool {
	part, _, _ = strings.Cut(strings.ToLower(part), ":") // a stream of NTFS
	part = strings.TrimRight(part, ". ")
	return part == ".git" || part == "git~1"
}
