package ui

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/fleetboard/fleetboard/views/links"
)

// maxMarkdown is how much source is turned into markup, in bytes.
const maxMarkdown = 256 << 10

// Markdown turns text from people and agents into markup that is safe on our
// pages: no raw HTML, no images, no style, class, id or data attributes; links
// only to https and mailto, with rel "nofollow noopener ugc". Keys of jobs become
// links to their pages, and the items of a task list get boxes that only show.
// Text that is too long or too tangled is shown whole as it was typed, after a
// notice that says so. What was rendered lately is kept.
func Markdown(src string) SafeHTML { return rendered.get(src, render) }

func render(src string) SafeHTML {
	src = CleanLines(src)
	if strings.TrimSpace(src) == "" {
		return SafeHTML{}
	}
	if markup, ok := format([]byte(src)); ok {
		return SafeHTML{html: markup}
	}
	return asTyped(src)
}

// format returns the sanitised markup of a text, false where that takes more than it may.
func format(src []byte) (string, bool) {
	if len(src) > maxMarkdown {
		return "", false
	}
	doc, used := parse(src)
	var out page
	if used.exceeded || converter().Renderer().Render(&out, src, doc) != nil {
		return "", false
	}
	return policy().Sanitize(out.markup.String()), true
}

func parse(src []byte) (ast.Node, *bounds) {
	pc := parser.NewContext()
	return converter().Parser().Parse(text.NewReader(src), parser.WithContext(pc)), findBounds(pc)
}

// asTyped returns a text without any format.
func asTyped(src string) SafeHTML {
	return SafeHTML{html: `<p class="text-faint">Shown as it was typed: it is too long or too deeply nested to be formatted.</p>` +
		`<pre class="whitespace-pre-wrap wrap-anywhere">` + html.EscapeString(src) + `</pre>`}
}

// converter is goldmark in its safe mode: raw HTML is left out.
var converter = sync.OnceValue(func() goldmark.Markdown {
	inline := append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewStrikethroughParser(), 500))
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(bounded(parser.DefaultBlockParsers())...),
			parser.WithInlineParsers(bounded(inline)...),
			parser.WithInlineParsers(util.Prioritized(extension.NewTaskCheckBoxParser(), 0)),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
			parser.WithParagraphTransformers(util.Prioritized(paragraphs{}, 0)),
			parser.WithASTTransformers(util.Prioritized(linkRel{}, 100), util.Prioritized(jobLinks{}, 200)),
		)),
		goldmark.WithExtensions(extension.Table, extension.Linkify),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(
			util.Prioritized(taskBox{}, 100), util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500))),
	)
})

// policy is an allow list, written out so that a new version of the sanitiser
// cannot widen it.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(
		"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote",
		"ul", "ol", "li", "pre", "code", "em", "strong", "del",
		"table", "thead", "tbody", "tr", "th", "td",
	)
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,6}$`)).OnElements("ol")
	p.AllowAttrs("type").Matching(regexp.MustCompile("^checkbox$")).OnElements("input")
	p.AllowAttrs("disabled", "checked").Matching(regexp.MustCompile("^$")).OnElements("input")
	p.AllowAttrs("aria-label").Matching(regexp.MustCompile("^(?:" + taskDone + "|" + taskOpen + ")$")).OnElements("input")
	p.AllowAttrs("href").Matching(regexp.MustCompile("^(?:(?i:https|mailto):|" + links.Jobs + "/" + jobKey + "$)")).OnElements("a")
	p.AllowURLSchemes("https", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(true)       // those of jobs
	p.RequireNoFollowOnLinks(false) // linkRel writes the whole value
	p.AllowAttrs("rel").Matching(regexp.MustCompile("^" + rel + "$")).OnElements("a")
	return p
})

// rel says of every link that it is not ours.
const rel = "nofollow noopener ugc"

// linkRel gives every link its rel attribute.
type linkRel struct{}

// Transform is called by goldmark for every parsed text.
func (linkRel) Transform(doc *ast.Document, _ text.Reader, pc parser.Context) {
	used := findBounds(pc)
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // never fails: the walker does not
		if k := n.Kind(); entering && (k == ast.KindLink || k == ast.KindAutoLink) {
			n.SetAttributeString("rel", []byte(rel))
		}
		if l, ok := n.(*ast.Link); ok && entering {
			used.link(l)
		}
		return ast.WalkContinue, nil
	})
}
