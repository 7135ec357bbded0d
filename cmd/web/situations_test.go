package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Each situation of docs/operating.md names tests that there are, and parts of the book that there are.
func TestEachSituationIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found, err := exec.CommandContext(t.Context(), "grep", "-rhoE", "--include=*_test.go", `^func Test\w+`, "../..").Output()
	if err != nil {
		t.Fatal(err)
	}
	tests := "\n" + string(found)
	_, after, _ := strings.Cut(string(text), "\n## Situations\n")
	table, _, is := strings.Cut(after, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| [^|]+ \| (.+) \| (.+) \|$`).FindAllStringSubmatch(table, -1)
	if !is || len(rows) < 10 {
		t.Fatalf("the book has %d situations", len(rows))
	}
	for _, row := range rows[1:] {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(row[2], -1)
		if len(named) == 0 {
			t.Errorf("no test tries: %s", row[0])
		}
		for _, test := range named {
			if !strings.Contains(tests, "\nfunc "+test[1]+"\n") {
				t.Errorf("there is no %s", test[1])
			}
		}
		for _, link := range regexp.MustCompile(`\[([^]]+)\]\(#`).FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(string(text), "\n## "+link[1]+"\n") {
				t.Errorf("there is no part %q", link[1])
			}
		}
	}
}
