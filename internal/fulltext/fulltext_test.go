package fulltext_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fulltext"
)

func TestWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 80)
	for text, want := range map[string]string{
		"": "", " -- ": "", "Panic: boom": "panic boom", "internal/bus/bridge.go:52": "internal bus bridge go 52",
		"find_jobs(x)": "find jobs x", "kebab-case": "kebab case", "CamelCase": "camelcase", "v1.2.3-rc.1 dev2": "v 1 2 3 rc 1 dev2",
		"https://api.Example.com:8080/x?y=1": "https api example com 8080 x y 1", "ada@example.org": "ada example org",
		"E0308 0x1F -1.5": "e0308 0x1f 1 5", "FB-206": "fb 206", "don't don’t": "don t don t",
		"Größe ÄÖ": "grösse äö", "STRASSE Straße": "strasse strasse", "Ὀδυσσεύς ὈΔΥΣΣΕΎΣ": "ὀδυσσεύσ ὀδυσσεύσ",
		"cafe\u0301 café": "café café", "ｆｕｌｌ ﬁne": "full fine", "soft\u00adware": "software", "हिन्दी": "हिन्दी", "नमस्ते दुनिया": "नमस्ते दुनिया",
		"全文検索 ok": "全 文 検 索 ok", "ラーメン屋": "ラ ー メ ン 屋", "한국어 검색": "한국어 검색", "สวัสดี": "ส วั ส ดี",
		"🚀 deploy 👩‍💻 now ❤️": "deploy now", "1\ufe0f\u20e3 one": "1 one", "a\u0301\u0302b": "á\u0302b", "x²": "x2", "\u0301": "",
		long: long[:100], "bad \xff byte": "bad byte", "nul\x00byte": "nul byte", "ﷺ": "صلىاللهعليهوسلم",
	} {
		var got []string
		for w := range fulltext.Words(text) {
			got = append(got, w.Text)
			if w.From >= w.To || w.To > len(text) {
				t.Errorf("%q has a word at %d to %d", text, w.From, w.To)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"drain":              {"('drain':*)", "('drain':*)"},
		"Drain a factory":    {"('drain') & ('a') & ('factory':*)", "('drain') & ('a') & ('factory':*)"},
		`"drain a factory"`:  {"('drain' <-> 'a' <-> 'factory')", "('drain' & 'a' & 'factory')"},
		`cache "drain a"`:    {"('cache') & ('drain' <-> 'a')", "('cache') & ('drain' & 'a')"},
		`"drain a" cache`:    {"('drain' <-> 'a') & ('cache':*)", "('drain' & 'a') & ('cache':*)"},
		`"drain a`:           {"('drain' <-> 'a')", "('drain' & 'a')"},
		`"drain" ""`:         {"('drain')", "('drain')"},
		"FB-12":              {"('fb' <-> '12':*)", "('fb' & '12':*)"},
		"fb-12 x":            {"('fb' <-> '12') & ('x':*)", "('fb' & '12') & ('x':*)"},
		"pool.go":            {"('pool' <-> 'go':*)", "('pool' & 'go':*)"},
		"max_rows":           {"('max' <-> 'rows':*)", "('max' & 'rows':*)"},
		"a1b2c3d broke":      {"('a1b2c3d':*) & ('broke':*)", "('a1b2c3d':*) & ('broke':*)"},
		"defaced broke":      {"('defaced') & ('broke':*)", "('defaced') & ('broke':*)"},
		`"a1b2c3d" broke`:    {"('a1b2c3d') & ('broke':*)", "('a1b2c3d') & ('broke':*)"},
		"Straße, naïve":      {"('strasse') & ('naïve':*)", "('strasse') & ('naïve':*)"},
		"検索":                 {"('検' <-> '索':*)", "('検' & '索':*)"},
		"fox' | !dog & (cat": {"('fox') & ('dog') & ('cat':*)", "('fox') & ('dog') & ('cat':*)"},
		`a\b <-> c:*`:        {"('a' <-> 'b') & ('c':*)", "('a' & 'b') & ('c':*)"},
	} {
		q, err := fulltext.Parse(text)
		if got := [2]string{q.Together(), q.Apart()}; got != want || err != nil {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", ` -"`, `"" !`, "🚀", "a\x00", "a\xff", strings.Repeat("x", fulltext.MaxQuery+1)} {
		got, err := fulltext.Parse(text)
		if refusal := fault.From(err); got != nil || !fault.Is(err, fault.Validation) || refusal.Fields["q"] == "" {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

func TestWhatIsMarked(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("far ", 200)
	for _, c := range []struct{ words, text, want string }{
		{"art", "start of art", "start of [art]"},
		{"art", "start of artists", "start of [artists]"},
		{`"art"`, "start of artists", "start of artists"},
		{"bridge.go boom", "boom in internal/bus/bridge.go:52", "[boom] in internal/bus/[bridge.go]:52"},
		{`"a b" "b c"`, "a b c", "[a b c]"},
		{`"go bridge"`, "bridge.go", "bridge.go"},
		{"strasse", "Die Straße", "Die [Straße]"},
		{"検索", "全文検索機能", "全文[検索]機能"},
		{"x", "\x02marks\x03 of x", " marks  of [x]"},
		{"needle", far + "needle " + far, "…" + far[len(far)-80:] + "[needle] " + far[:400-80-7] + "…"},
	} {
		q, err := fulltext.Parse(c.words)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer(fulltext.MarkBegin, "[", fulltext.MarkEnd, "]").Replace(q.See(c.text).Passage())
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s in %.40s (-want +got):\n%s", c.words, c.text, diff)
		}
	}
}

// Whatever a text is, it is found by itself and by each of its pieces, in any case, and its
// words are the words of what they are written as.
func TestATextIsFoundByItsPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := Text().Draw(t, "text")
		for _, piece := range append(strings.Fields(text), text) {
			for _, asked := range []string{piece, strings.ToLower(piece)} {
				q, err := fulltext.Parse(asked)
				if err != nil {
					continue // it has no word, or what no query may have
				}
				if s := q.See(text); !s.All() || !s.Any() {
					t.Fatalf("%q is not found in %q: %v", asked, text, q)
				}
			}
		}
		for w := range fulltext.Words(text) {
			for again := range fulltext.Words(w.Text) {
				if !strings.Contains(w.Text, again.Text) {
					t.Fatalf("%q is cut again, to %q", w.Text, again.Text)
				}
			}
		}
	})
}

// Each letter of each script is found by its lower, its upper and its title case.
func TestEachLetterIsFoundInEachCase(t *testing.T) {
	t.Parallel()
	word := func(text string) string {
		for w := range fulltext.Words(text) {
			return w.Text
		}
		return ""
	}
	for r := range rune(unicode.MaxRune) {
		if !unicode.IsLetter(r) {
			continue
		}
		want := word(string(r))
		for _, other := range []string{strings.ToLower(string(r)), strings.ToUpper(string(r)), strings.ToTitle(string(r))} {
			if got := word(other); got != want {
				t.Errorf("%U %c is %q as a word, in another case (%s) %q", r, r, want, other, got)
			}
		}
	}
}

// Text draws texts as they stand in jobs, and any.
func Text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("abAB12 ./-_:@\"'\\&|!()*<>é\u0301ß検索한สัﬁ２\u00ad🚀")), 1, 40, -1),
		rapid.StringN(1, 40, -1), rapid.StringMatching(`([a-z]{1,6}/){0,3}[a-zA-Z_]{1,8}\.(go|rs|ts) (v\d\.\d+\.\d)? ?FB-\d{1,4} [0-9a-f]{7,40}`))
}
