package jobsearch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetboard/internal/fulltext"
)

func TestWordsOfALog(t *testing.T) {
	long := strings.Repeat("ä", 80)
	for text, want := range map[string]string{
		"": "", " -- ": "", "Panic: boom": "panic boom", "internal/bus/bridge.go:52": "internal bus bridge go 52",
		"find_jobs(x)": "find jobs x", "Größe ÄÖ": "größe äö", "हिन्दी": "हिन्दी", long: long[:maxWord], "bad \xff byte": "bad byte",
	} {
		var got []string
		for w := range wordsOf(text) {
			got = append(got, w.text)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestASearchOfLogsIsWordsInParts(t *testing.T) {
	for text, want := range map[string]string{
		"panic":          "'panic':*",
		"Panic boom":     "'panic' & 'boom':*",
		`boom "at last"`: "'boom' & 'at' & 'last'",
		"bridge.go":      "'bridge' & 'go':*",
		`it's \ % :* &`:  "'it' & 's':*",
	} {
		list, err := partsOf(text)
		if got := query(list); err != nil || got != want {
			t.Errorf("%s is asked as %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestWhatASearchMarksInALine(t *testing.T) {
	far := strings.Repeat("far ", 200)
	for _, c := range []struct{ words, line, want string }{
		{"art", "start of art", "start of [art]"},
		{"art", "start of artists", "start of [artists]"},
		{`"art"`, "start of artists", ""},
		{"bridge.go boom", "boom in internal/bus/bridge.go:52", "[boom] in internal/bus/[bridge.go]:52"},
		{`"a b" "b c"`, "a b c", "[a b c]"},
		{`"go bridge"`, "bridge.go", ""},
		{"needle", far + "needle " + far, "…" + far[len(far)-passageBefore:] + "[needle] " + far[:passageSize-passageBefore-7] + "…"},
	} {
		list, err := partsOf(c.words)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer(fulltext.MarkBegin, "[", fulltext.MarkEnd, "]").Replace(see(c.line, list).passage(c.line))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s in %.40s (-want +got):\n%s", c.words, c.line, diff)
		}
	}
}
