package patches_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/jobs/patches"
)

// count writes numbered lines.
func count(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// What becomes of a line of the first attempt in the second one, as real git has it.
func TestALineIsFollowedIntoALaterAttempt(t *testing.T) {
	t.Parallel()
	work := count(1, 10) + "func added() {\n\treturn\n}\n" + count(11, 20)
	for name, c := range map[string]struct {
		first, upstream, second map[string]string // what the attempts write, and what happens to their base between them
		from                    patches.Place
		want                    string // PATH:LINE, "" where it is gone
	}{
		"an edit above":          {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "new\nnew 2\n" + work}, patches.Place{"a.txt", patches.New, 12}, "a.txt:14"},
		"the line is edited":     {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": strings.Replace(work, "\treturn\n", "\treturn nil\n", 1)}, patches.Place{"a.txt", patches.New, 12}, ""},
		"its neighbour is":       {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": strings.Replace(work, "\treturn\n", "\treturn nil\n", 1)}, patches.Place{"a.txt", patches.New, 11}, "a.txt:11"},
		"an unchanged line":      {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "new\n" + work}, patches.Place{"a.txt", patches.New, 9}, "a.txt:10"},
		"a line far from it":     {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "new\n" + work}, patches.Place{"a.txt", patches.New, 22}, "a.txt:23"},
		"a rebase":               {map[string]string{"a.txt": work}, map[string]string{"a.txt": "top\ntop 2\n" + count(1, 20)}, map[string]string{"a.txt": "top\ntop 2\n" + work}, patches.Place{"a.txt", patches.New, 11}, "a.txt:13"},
		"context over a rebase":  {map[string]string{"a.txt": work}, map[string]string{"a.txt": "top\n" + count(1, 20)}, map[string]string{"a.txt": "top\n" + work}, patches.Place{"a.txt", patches.New, 10}, "a.txt:11"},
		"a rename":               {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "-", "b/c.txt": work}, patches.Place{"a.txt", patches.New, 11}, "b/c.txt:11"},
		"a rename of a new file": {map[string]string{"n.txt": count(100, 120)}, nil, map[string]string{"n.txt": "-", "m.txt": "head\n" + count(100, 120)}, patches.Place{"n.txt", patches.New, 3}, "m.txt:4"},
		"a rename and a rebase":  {map[string]string{"a.txt": work}, map[string]string{"a.txt": "top\n" + count(1, 20)}, map[string]string{"a.txt": "-", "b.txt": "top\n" + work}, patches.Place{"a.txt", patches.New, 12}, "b.txt:13"},
		"the file is deleted":    {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "-"}, patches.Place{"a.txt", patches.New, 11}, ""},
		"the whole file":         {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "-", "b.txt": work}, patches.Place{"a.txt", patches.New, 0}, "b.txt:0"},
		"the whole file deleted": {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "-"}, patches.Place{"a.txt", patches.New, 0}, ""},
		"a new file is gone":     {map[string]string{"n.txt": count(100, 120)}, nil, map[string]string{"n.txt": "-", "other.txt": "x\n"}, patches.Place{"n.txt", patches.New, 3}, ""},
		"a removed line":         {map[string]string{"a.txt": count(1, 5) + count(7, 20)}, nil, map[string]string{"a.txt": "new\n" + count(1, 5) + count(7, 20)}, patches.Place{"a.txt", patches.Old, 6}, "a.txt:6"},
		"a removed line, rebase": {map[string]string{"a.txt": count(1, 5) + count(7, 20)}, map[string]string{"a.txt": "top\n" + count(1, 20)}, map[string]string{"a.txt": "top\n" + count(1, 5) + count(7, 20)}, patches.Place{"a.txt", patches.Old, 6}, "a.txt:7"},
		"the same commit":        {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": work}, patches.Place{"a.txt", patches.New, 12}, "a.txt:12"},
		"a block that moved":     {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": "func added() {\n\treturn\n}\n" + count(1, 20)}, patches.Place{"a.txt", patches.New, 11}, "a.txt:1"},
		"a file not in it":       {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": work}, patches.Place{"z.txt", patches.New, 1}, ""},
		"the change taken back":  {map[string]string{"a.txt": work}, nil, map[string]string{"a.txt": count(1, 20), "x": "x\n"}, patches.Place{"a.txt", patches.New, 11}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, map[string]string{"a.txt": count(1, 20)})
			base := r.git("rev-parse", "HEAD")
			r.git("checkout", "-q", "-b", "work")
			earlier := patches.Read(r.diff(base, r.commit(c.first)))
			next := base
			if c.upstream != nil {
				r.git("checkout", "-q", "main")
				next = r.commit(c.upstream)
				r.git("checkout", "-q", "-b", "again")
			}
			if c.upstream != nil {
				for path := range c.first {
					if _, renamed := c.second[path]; !renamed {
						r.write(path, c.first[path])
					}
				}
			}
			later := patches.Read(r.diff(next, r.commit(c.second)))
			to, found := patches.Follow(earlier, later, c.from)
			got := ""
			if found {
				got = fmt.Sprintf("%s:%d", to.Path, to.Line)
			}
			if got != c.want {
				t.Errorf("%s:%d became %q, want %q", c.from.Path, c.from.Line, got, c.want)
			}
		})
	}
}

// Whatever is aligned is equal and in order; two texts that differ little have all of it but that in common.
func TestAlignIsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 60).Draw(t, "a")
		b := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 60).Draw(t, "b")
		last, same := -1, 0
		for i, j := range patches.Align(a, b) {
			if j < 0 {
				continue
			}
			if a[i] != b[j] || j <= last {
				t.Fatalf("%d of %v is said to be %d of %v", i, a, j, b)
			}
			last, same = j, same+1
		}
		if want := longest(a, b); same != want {
			t.Fatalf("%v and %v have %d in common, not %d", a, b, want, same)
		}
	})
}

// longest is how many items two lists have in common in their order.
func longest(a, b []int) int {
	row := make([]int, len(b)+1)
	for i := range a {
		before := 0
		for j := range b {
			keep := row[j+1]
			if a[i] == b[j] {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			before = keep
		}
	}
	return row[len(b)]
}

// What is no patch, is cut off or is damaged is read as far as it goes, and soon.
func TestDamagedPatchesAreReadAsFarAsTheyGo(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a.txt": count(1, 100), "b.txt": "b\n"})
	base := r.git("rev-parse", "HEAD")
	whole := r.diff(base, r.commit(map[string]string{"a.txt": "x\n" + count(1, 50) + "y\n" + count(51, 100) + "z\n", "b.txt": "c\n"}))
	for n := range len(whole) {
		for _, f := range patches.Read(whole[:n]).Files {
			for _, h := range f.Hunks {
				if len(h.Lines) == 0 {
					t.Fatalf("a hunk without lines of %d bytes", n)
				}
			}
		}
	}
	cut := patches.Read(whole[:strings.Index(whole, "+z")-2])
	if len(cut.Files) != 1 || !cut.Files[0].Broken || len(cut.Files[0].Hunks) != 2 {
		t.Errorf("of a patch that is cut off it reads %+v", cut)
	}
	many := "diff --git a/a b/a\n--- a/a\n+++ b/a\n" + strings.Repeat("@@ -1 +1 @@\n-a\n+b\n", 20000) + "@@ -1 +1,99 @@\nx\n"
	if f := patches.Read(many).Files; len(f) != 1 || !f[0].Broken || len(f[0].Hunks) != 20000 {
		t.Errorf("of many hunks it reads %d files", len(f))
	}
	for _, text := range []string{"", "x", "diff --git ", "diff --git a/x b/x", "@@ -1 +1 @@", "\x00", "diff --git a/x b/x\n@@ -0,0 +1,999999999999 @@\n+x\n"} {
		if n := len(patches.Read(text).Files); n > 1 {
			t.Errorf("%q is %d files", text, n)
		}
	}
}
