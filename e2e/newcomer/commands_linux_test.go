package newcomer

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// isOfItself reports whether help is that of the command of the words, and not that of the group in which it would be.
func isOfItself(help string, words []string) bool {
	group := regexp.MustCompile(`(?m)^  (fleet(?: [a-z-]+)*) \[command\]`).FindStringSubmatch(help)
	if group == nil {
		return true
	}
	depth := len(strings.Fields(group[1]))
	return len(words) <= depth || strings.HasPrefix(words[depth], "-")
}

// command is one in a sentence.
var command = regexp.MustCompile("`((?:fleet|fleetboard|bin/fleet|bin/fleetboard) [a-z][^`]*)`")

// A command in the middle of a sentence is one that there is, with flags that there are.
func TestCommandsInSentencesExist(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	help := r.paste("bin/fleetboard help")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range command.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(span[1], " > ")
			line = strings.TrimPrefix(strings.TrimSuffix(line, " …"), "bin/")
			if seen[line] {
				continue
			}
			seen[line] = true
			words := strings.Fields(line)
			if words[0] == "fleet" {
				out, err := r.shell("bin/" + line + " --help").CombinedOutput()
				if err != nil { // a flag at the end may want a value
					out, err = r.shell("bin/" + line + " 1 --help").CombinedOutput()
				}
				if err != nil || !isOfItself(string(out), words) {
					t.Errorf("%s: `%s`: %v\n%.300s", filepath.Base(page), line, err, out)
				}
				continue
			}
			for _, word := range words[1:] {
				known := regexp.MustCompile(`(?m)\s` + regexp.QuoteMeta(word) + `(\s|$)`)
				if (word == words[1] || strings.HasPrefix(word, "--")) && !known.MatchString(help) {
					t.Errorf("%s: `%s`: fleetboard does not have %s", filepath.Base(page), line, word)
				}
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d commands were looked at", len(seen))
	}
}
