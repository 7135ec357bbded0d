package ui_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/views/ui"
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

// An item of a task list has a box that shows whether it is done and takes nothing.
func TestMarkdownTaskLists(t *testing.T) {
	got := markdown(t, "- [ ] write\n- [x] test\n- not [x] this")
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	doc.Find("li > input[type=checkbox][disabled]").Each(func(_ int, box *goquery.Selection) {
		_, checked := box.Attr("checked")
		names = append(names, fmt.Sprint(box.AttrOr("aria-label", ""), checked, strings.TrimSpace(box.Parent().Text())))
	})
	if want := []string{"Open" + "false" + "write", "Done" + "true" + "test"}; !slices.Equal(names, want) {
		t.Errorf("boxes %q in %q, want %q", names, got, want)
	}
}

// The keys of jobs lead to them, wherever they are words of their own.
func TestMarkdownLinksKeysOfJobs(t *testing.T) {
	for src, want := range map[string]string{
		"After FB-12.":                                           "FB-12",
		"FB-1, FB-2 and **FB-3**":                                "FB-1 FB-2 FB-3",
		"# FB-4\n\n> (FB-5)\n\n- FB-6":                           "FB-4 FB-5 FB-6",
		"- [ ] FB-7 first":                                       "FB-7",
		"| a |\n|---|\n| FB-8: x |":                              "FB-8",
		"one\nFB-9\ntwo":                                         "FB-9",
		"`FB-12` and\n\n    FB-12":                               "",
		"```\nFB-12\n```":                                        "",
		"[FB-12](https://example.org/)":                          "https://example.org/",
		"https://example.org/FB-12":                              "https://example.org/FB-12",
		"UTF-8, SHA-256 and fb-12":                               "",
		"FB-0, FB-012 and FB-99999999999":                        "",
		"aFB-12, éFB-12, FB-12a, fleet/FB-12, FB-12-fix, FB-1_2": "",
		"![FB-12](https://example.org/x.png)":                    "",
		"[x](/jobs/FB-12/delete) [y](/jobs/../logout)":           "",
	} {
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(markdown(t, src)))
		if err != nil {
			t.Fatal(err)
		}
		var to []string
		doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
			to = append(to, strings.TrimPrefix(a.AttrOr("href", ""), "/jobs/"))
		})
		if got := strings.Join(to, " "); got != want {
			t.Errorf("%q leads to %q, want %q", src, got, want)
		}
	}
	if got, want := markdown(t, "See FB-1 & FB-2!"), `<p>See <a href="/jobs/FB-1">FB-1</a> &amp; <a href="/jobs/FB-2">FB-2</a>!</p>`; strings.TrimSpace(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A plain text stays as it was typed, apart from the links to its jobs.
func TestProseLinksKeysOfJobs(t *testing.T) {
	for src, want := range map[string]string{
		"Ask FB-1:\n<b>FB-2</b>?": `Ask <a class="tlink" href="/jobs/FB-1">FB-1</a>:` + "\n" +
			`&lt;b&gt;<a class="tlink" href="/jobs/FB-2">FB-2</a>&lt;/b&gt;?`,
		"fleet/FB-1": "fleet/FB-1",
		"":           "",
	} {
		var b strings.Builder
		if err := ui.Prose(src).Render(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); got != want {
			t.Errorf("%q gives %q, want %q", src, got, want)
		}
	}
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
		"- [x] <input onclick=alert(1)>", "<input type=checkbox>", "- [ ] <b>FB-1</b> [FB-2](javascript:FB-3)", "[a](/jobs/FB-1/../../logout)",
	} {
		assertSafe(t, src, markdown(t, src))
	}
}

var safeAddress = regexp.MustCompile(`^(https:|mailto:|/jobs/FB-[1-9][0-9]*$)`)

func assertSafe(t *testing.T, src, got string) {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader("<body>" + got))
	if err != nil {
		t.Fatal(err)
	}
	doc.Find("body *").Each(func(_ int, el *goquery.Selection) {
		switch tag := goquery.NodeName(el); tag {
		case "input":
			_, disabled := el.Attr("disabled")
			if !disabled || el.AttrOr("type", "") != "checkbox" {
				t.Errorf("%q leaves a box that can be used in %q", src, got)
			}
		case "script", "img", "svg", "style", "iframe", "form", "button", "base", "meta", "object", "embed", "template", "hx-partial", "math":
			t.Errorf("%q leaves <%s> in %q", src, tag, got)
		}
		for _, a := range el.Nodes[0].Attr {
			ok := a.Key == "rel" || a.Key == "start" || a.Key == "href" && safeAddress.MatchString(a.Val) ||
				goquery.NodeName(el) == "input" && slices.Contains([]string{"type", "disabled", "checked", "aria-label"}, a.Key)
			if !ok {
				t.Errorf("%q leaves %s=%q in %q", src, a.Key, a.Val, got)
			}
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a", "<script>", "[a](javascript:x)", "![x](y)", "- a\n  - b", "- [x] FB-1", "\tFB-12 a", "> \tFB-1", "| a |\n|--|\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { assertSafe(t, src, markdown(t, src)) })
}
