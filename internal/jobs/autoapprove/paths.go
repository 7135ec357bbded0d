package autoapprove

import (
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// alwaysDenied is what no policy approves whatever a product denies: what git, builds and forges run or obey,
// and what agents take their instructions from.
var alwaysDenied = []string{".git*", ".ci*", ".circleci", ".forgejo", ".buildkite", ".travis.yml", ".drone.yml", ".woodpecker*",
	"Jenkinsfile*", "azure-pipelines*", "bitbucket-pipelines*", ".husky", ".pre-commit*", "lefthook*", ".envrc", ".npmrc", ".yarnrc*",
	"CODEOWNERS", "AGENTS*.md", "CLAUDE*.md", "GEMINI*.md", ".agents", ".claude*", ".codex*", ".cursor*", ".gemini", ".opencode*",
	"opencode.json", ".mcp.json", ".vscode", ".idea", ".devcontainer"}

// checkPattern returns what is wrong with an entry of the denied paths, "" where nothing is.
func checkPattern(pattern string) string {
	switch {
	case strings.TrimSpace(pattern) == "" || pattern == "/":
		return "It must not be empty."
	case utf8.RuneCountInString(pattern) > MaxPattern:
		return "It must have at most 256 characters."
	case !isPlain(pattern, "*?[]{},^!"):
		return "It must have letters, digits and ._-/+@=,()#$%& and the wildcards * ? [a-z] {a,b}: no other path is ever approved."
	case strings.HasPrefix(pattern, "!"):
		return "It must name what is denied; nothing is an exception from that."
	}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return "Its parts must have names."
		case strings.Contains(part, "**") && part != "**":
			return "It must have ** as a whole part, as in db/**/schema."
		}
	}
	if !doublestar.ValidatePattern(foldPath(pattern)) || strings.Count(pattern, "{")+strings.Count(pattern, "*") > 16 {
		return "Its wildcards cannot be read: * ? [a-z] {a,b}, at most 16 of them."
	}
	return ""
}

// isPlain reports whether a path has only such characters as look like nothing else and mean the same
// everywhere, or those of also.
func isPlain(path, also string) bool {
	for i := range len(path) {
		c := path[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("._-/+@=,()[]#$%&", c) >= 0, strings.IndexByte(also, c) >= 0:
		default:
			return false
		}
	}
	return true
}

// checkPath returns why a path of a patch is none that is judged, "" where it is one.
func checkPath(path string) string {
	if path == "" || len(path) > 512 || !isPlain(path, "") {
		return "has a name with characters that can look like others"
	}
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return "has a name that leads elsewhere"
		case strings.HasSuffix(part, "."):
			return "has a name that some systems take for another"
		}
	}
	return ""
}

// foldPath returns a path, or a pattern, as it is compared: without case, for there are file systems without.
func foldPath(path string) string { return strings.ToLower(strings.Trim(path, "/")) }

// looks has what is read as something else.
var looks = strings.NewReplacer("rn", "m", "vv", "w", "0", "o", "1", "l", "i", "l", "5", "s")

// findDenied returns the pattern that denies a path, "" where none does.
func findDenied(path string, patterns []string) string {
	for _, list := range [][]string{alwaysDenied, patterns} {
		for _, pattern := range list {
			if denies(pattern, path) {
				return pattern
			}
		}
	}
	return ""
}

// denies reports whether a pattern names a path, something that it is in, or what looks like these. Without a
// slash it names parts anywhere.
func denies(pattern, path string) bool {
	isAnywhere := !strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	pattern, path = foldPath(pattern), foldPath(path)
	if matches(pattern, path, isAnywhere) {
		return true
	}
	return !strings.ContainsAny(pattern, "[{") && matches(looks.Replace(pattern), looks.Replace(path), isAnywhere)
}

func matches(pattern, path string, isAnywhere bool) bool {
	for at := 0; at < len(path); {
		end := strings.IndexByte(path[at:], '/')
		if end < 0 {
			end = len(path)
		} else {
			end += at
		}
		named := path[:end]
		if isAnywhere {
			named = path[at:end]
		}
		// One that cannot be read was refused as it was saved, and denies all.
		if ok, err := doublestar.Match(pattern, named); ok || err != nil {
			return true
		}
		at = end + 1
	}
	return false
}
