package jobsearch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fulltext"
)

// paths returns a table of what stands in texts of jobs, each different.
func paths(n int) []string {
	forms := []string{"see internal/pkg%d/file%d.go:%d", "panic at https://host%d.example.com:80%d/v1/x?id=%d", "release v%d.%d.%d-rc.1 is out",
		"mail dev%d+x%d@mail%d.example.org", "error E0%d in max_rows_%d and kebab-case-%d", "CamelCase%dName%d::method%d()", "sha %07xab%dcd%d",
		"全文検索%d 機能%d テスト%d", "Größe%d STRASSE%d naïve%d", "C:\\dir%d\\sub%d\\x%d.txt", "`go test ./x%d -run 'T%d/%d'`", "FB-%d blocks FB-1%d, %d%%"}
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(forms[i%len(forms)], i, i*7%1000, i*13%1000)
	}
	return list
}

// found queries which of the texts it finds by a query, as jobs and messages are
// found, or by words without their places, as logs are.
const found = `SELECT count(*) FROM unnest($1::text[]) v WHERE v::tsvector @@ cast($2::text AS tsquery)`

// The database and the marks of passages agree on a large table: each text is found by itself
// and by each of its pieces.
func TestTheDatabaseFindsWholeAndParts(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	list := paths(6000)
	vectors := make([]string, len(list))
	for i, text := range list {
		var v fulltext.Vector
		v.Add('C', text)
		vectors[i] = v.String()
	}
	var wholes, parts, of []string
	for i, text := range list {
		for _, piece := range append(strings.Fields(text), text) {
			q, err := fulltext.Parse(piece)
			if err != nil {
				continue // such as ::
			}
			if !q.See(text).All() {
				t.Errorf("%s is not marked in %s", piece, text)
			}
			wholes, parts, of = append(wholes, q.Together()), append(parts, q.Apart()), append(of, vectors[i])
		}
	}
	for _, asked := range [][]string{wholes, parts} {
		const missed = `SELECT count(*) FROM unnest($1::text[], $2::text[]) x(v, q) WHERE NOT v::tsvector @@ cast(q AS tsquery)`
		if n := dbfactory.Int(t, d, missed, of, asked); n != 0 {
			t.Errorf("%d of %d pieces are not found", n, len(asked))
		}
	}
	for asked, want := range map[string]int{"internal/pkg0/file0.go": 1, "pkg0/file0": 1, "file0.go": 1, "file12": 1, `"file12"`: 1, "host1.example.com": 1,
		"example.com": 500, "EXAMPLE.ORG": 500, "v2.14.26": 1, `"2.14.26"`: 1, "v2.14.2": 1, `"v2.14.2"`: 0, "2.14.26": 1, "max_rows_28": 1, "max_rows": 500, "case kebab": 500,
		"kebab-case": 500, "camelcase5name35::method65": 1, "0000006": 1, "検索": 500, "索検": 0, "grösse8": 1, "strasse": 500, "fb-11": 1, "sub63\\x117.txt": 1} {
		q, err := fulltext.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		got := dbfactory.Int(t, d, found, vectors, q.Together())
		marked := 0
		for _, text := range list {
			if q.See(text).All() {
				marked++
			}
		}
		if got != marked || (want < 500) != (got < 500) || want < 500 && got < want || want == 0 && got != 0 {
			t.Errorf("%s: the database finds %d, %d are marked; want %d", asked, got, marked, want)
		}
	}
}

// The database and the marks of passages agree on any text and any query.
func TestTheDatabaseFindsWhatIsMarked(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAb1 ./-_\"'\\&|!():*é\u0301ß検索สั２\u00ad🚀")), 1, 24, -1)
	err := d.In(t.Context(), db.None, func(tx db.Tx) error {
		rapid.Check(t, func(rt *rapid.T) {
			texts := rapid.SliceOfN(rapid.OneOf(letters, rapid.StringN(1, 24, -1)), 1, 8).Draw(rt, "texts")
			q, err := fulltext.Parse(rapid.OneOf(letters, rapid.SampledFrom(texts)).Draw(rt, "query"))
			if err != nil {
				rt.Skip()
			}
			var got []bool
			var vectors []string
			for _, text := range texts {
				var v fulltext.Vector
				v.Add('B', "before it")
				v.Add('C', text)
				vectors = append(vectors, v.String())
			}
			const sql = `SELECT array_agg(v::tsvector @@ cast($2::text AS tsquery) ORDER BY n) FROM unnest($1::text[]) WITH ORDINALITY x(v, n)`
			if err := tx.QueryRow(t.Context(), sql, vectors, q.Together()).Scan(&got); err != nil {
				rt.Fatalf("%q, %q: %v", vectors, q.Together(), err)
			}
			var want []bool
			for _, text := range texts {
				marked := q.See(text).Has
				for i, has := range q.See("before it").Has {
					marked[i] = marked[i] || has
				}
				want = append(want, !slices.Contains(marked, false))
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("%q in %q: the database finds %v, marked are %v", q.Together(), texts, got, want)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever a text is and however long, its words fit.
func TestTheWordsOfAnyTextFit(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	var many strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&many, "Ⱥword%dﷺ ", i)
	}
	for name, text := range map[string]string{"many": many.String(), "one often": strings.Repeat("a ", 1_000_000),
		"one long": strings.Repeat("ﷺ", 100_000), "hanzi": strings.Repeat("検索", 100_000)} {
		var v fulltext.Vector
		v.Add('A', "the title")
		v.Add('C', text)
		if n := dbfactory.Int(t, d, found, []string{v.String()}, "'the' <-> 'title'"); n != 1 {
			t.Errorf("%s is not found by its title", name)
		}
	}
}
