package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Each situation of docs/operating.md, and each promise of docs/security.md, names tests that there are, and parts of
// its page that there are.
func TestEachSituationIsTried(t *testing.T) {
	t.Parallel()
	found, err := exec.CommandContext(t.Context(), "grep", "-rhoE", "--include=*_test.go", `^func Test\w+`, "../..").Output()
	if err != nil {
		t.Fatal(err)
	}
	tests := "\n" + string(found)
	for page, part := range map[string]string{"operating.md": "Situations", "security.md": "Promises"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), "\n## "+part+"\n")
		table, _, _ := strings.Cut(after, "\n## ")
		rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(table, -1)
		if len(rows) < 10 {
			t.Fatalf("%s has %d rows in %s", page, len(rows), part)
		}
		for _, row := range rows[1:] {
			checkRow(t, string(text), tests, page, row)
		}
	}
}

// checkRow looks up what a row names: its parts of the page, and its tests.
func checkRow(t *testing.T, text, tests, page string, row []string) {
	t.Helper()
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(row[3], -1)
	if len(named) == 0 {
		t.Errorf("%s: no test tries: %s", page, row[1])
	}
	for _, test := range named {
		if !strings.Contains(tests, "\nfunc "+test[1]+"\n") {
			t.Errorf("%s: there is no %s", page, test[1])
		}
	}
	for _, link := range regexp.MustCompile(`\[([^]]+)\]\(#`).FindAllStringSubmatch(row[2], -1) {
		if !strings.Contains(text, "\n## "+link[1]+"\n") {
			t.Errorf("%s: there is no part %q", page, link[1])
		}
	}
}
