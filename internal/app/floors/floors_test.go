package floors

import (
	_ "embed"
	"errors"
	"go/build"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:embed floors.txt
var table string

const module = "github.com/fleetboard/fleetboard/"

// forTests are packages that only tests, and what measures, import.
var forTests = regexp.MustCompile(`^(e2e|bench|deploy)(/|$)|test$|^db/dbfactory$|^internal/client/engines/scripted(/|$)`)

// rule is a line of the table: its first word, the folders it is about, and those behind "=".
type rule struct {
	kind            string
	folders, others []string
}

func parse(text string) (rules []rule) {
	for line := range strings.Lines(text) {
		left, right, _ := strings.Cut(line, "=")
		if words := strings.Fields(left); len(words) > 0 && !strings.HasPrefix(line, "#") {
			rules = append(rules, rule{words[0], words[1:], strings.Fields(right)})
		}
	}
	return rules
}

// among returns the place of the folder that a package lies in, the innermost one of them; -1 where
// it lies in none.
func among(folders []string, pkg string) int {
	best := -1
	for i, f := range folders {
		if (pkg == f || strings.HasPrefix(pkg, f+"/")) && (best < 0 || len(f) > len(folders[best])) {
			best = i
		}
	}
	return best
}

// forbids reports whether a line alone forbids that a package imports another one of ours.
func (r rule) forbids(from, to string) bool {
	f, t := among(r.folders, from), among(r.folders, to)
	switch {
	case f < 0:
		return false
	case r.kind == "only" && r.folders[0] == "client":
		return t < 0 && among(r.others, to) < 0
	case r.kind == "only":
		return t != f && among(r.others, to) < 0
	case r.kind == "never":
		return among(r.others, to) >= 0
	case r.kind == "apart":
		return t >= 0 && t != f
	case r.kind == "order":
		return t > f
	}
	return false
}

// floorOf returns the number of a package's floor, from the ground up, and its folder; -1 where it
// has none.
func floorOf(rules []rule, pkg string) (floor int, folder string) {
	n := 0
	for _, r := range rules {
		if r.kind != "floor" {
			continue
		}
		if at := among(r.folders, pkg); at >= 0 {
			return n, r.folders[at]
		}
		n++
	}
	return -1, ""
}

// broken returns the line that forbids an import, empty where none does.
func broken(rules []rule, from, to string) string {
	for _, r := range rules {
		if r.forbids(from, to) {
			return r.kind + " " + strings.Join(r.folders, " ")
		}
	}
	f, folder := floorOf(rules, from)
	if t, other := floorOf(rules, to); t >= f && folder != other && !slices.ContainsFunc(rules, func(r rule) bool { return r.kind == "only" && among(r.folders, from) >= 0 }) {
		return "floor of " + other
	}
	return ""
}

func TestImportsGoDown(t *testing.T) {
	rules, seen := parse(table), 0
	for from, imports := range packages(t) {
		if forTests.MatchString(from) {
			continue
		}
		if floor, _ := floorOf(rules, from); floor < 0 {
			t.Errorf("%s has no floor in floors.txt", from)
		}
		for _, path := range imports {
			seen++
			to, ours := strings.CutPrefix(path, module)
			if ours && forTests.MatchString(to) {
				t.Errorf("%s imports %s, which is for tests", from, to)
			} else if by := broken(rules, from, to); ours && by != "" {
				t.Errorf("%s imports %s, against %q", from, to, by)
			}
			for _, r := range rules {
				if r.kind == "users" && among(r.folders, path) >= 0 && among(r.others, from) < 0 {
					t.Errorf("%s imports %s, which is for %v", from, path, r.others)
				}
			}
		}
	}
	if seen < 1000 {
		t.Errorf("only %d imports were looked at", seen)
	}
}

// A page is a folder of handlers and one of views; the lines of "apart" name both.
func TestEachPageStandsApart(t *testing.T) {
	rules, all, pages := parse(table), packages(t), 0
	for pkg := range all {
		name, ours := strings.CutPrefix(pkg, "handlers/")
		if _, shown := all["views/"+name]; !ours || !shown || strings.HasSuffix(name, "parts") {
			continue
		}
		pages++
		for _, folder := range []string{pkg, "views/" + name} {
			if !slices.ContainsFunc(rules, func(r rule) bool { return r.kind == "apart" && slices.Contains(r.folders, folder) }) {
				t.Errorf("%s is in no line of apart in floors.txt", folder)
			}
		}
	}
	if pages < 10 {
		t.Errorf("only %d pages were looked at", pages)
	}
}

// Imports that the table forbids, one of each kind, and their neighbours that it allows.
func TestTheTableForbids(t *testing.T) {
	rules := parse(table)
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"internal/jobs", "db", true}, {"db", "internal/jobs", false}, {"internal/jobs", "internal/spend", false}, {"internal/jobs", "internal/jobs/graph", true},
		{"internal/jobs/graph", "internal/jobs", false}, {"handlers/board", "handlers/job", false}, {"handlers/board", "handlers/web", true},
		{"handlers/web", "handlers/live", false}, {"views/board", "internal/ids", false}, {"views/board", "views/ui", true}, {"views/board", "views/job", false},
		{"internal/client/worker", "internal/jobs", false}, {"internal/client/worker", "internal/client/worker/repos", true}, {"internal/client/worker/repos", "internal/client/worker", false},
		{"internal/client/worker/repos", "internal/ids", false}, {"handlers", "internal/client/worker", false}, {"internal/dispatch/claim", "internal/dispatch/report", false},
		{"internal/accounts/people", "internal/accounts/members", false}, {"cmd/fleet", "db", false}, {"internal/app", "handlers", true}, {"handlers", "internal/app", false},
		{"handlers/board", "views/board", true}, {"internal/jobs", "views/links", false}, {"handlers/web", "db", false},
	} {
		if by := broken(rules, c.from, c.to); (by == "") != c.ok {
			t.Errorf("%s -> %s: forbidden by %q, allowed %t", c.from, c.to, by, c.ok)
		}
	}
}

// packages returns those of the module with what each of them imports, without their tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	all, root := map[string][]string{}, filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(dir string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if name := e.Name(); dir != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata") {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(dir, 0)
		if none := (*build.NoGoError)(nil); errors.As(err, &none) {
			return nil
		} else if err != nil {
			return err
		}
		path, err := filepath.Rel(root, dir)
		all[filepath.ToSlash(path)] = pkg.Imports
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
