package layout

import (
	"strings"
	"testing"
)

// Only the opening tag of a form that posts gets the field, whatever stands
// around it.
func TestStamp(t *testing.T) {
	const field = `<input type="hidden" name="in_workspace" value="w&#34;1">`
	for page, want := range map[string]string{
		``:                                   ``,
		`<p>&lt;form method="post"&gt;</p>`:  `<p>&lt;form method="post"&gt;</p>`,
		`<form method="get"><b>x</b></form>`: `<form method="get"><b>x</b></form>`,
		`<form method="post">x</form>`:       `<form method="post">` + field + `x</form>`,
		`a<form id="a&gt;b" method="post">`:  `a<form id="a&gt;b" method="post">` + field,
		`<form method="dialog"><form method="post" data-once><input></form>`: `<form method="dialog"><form method="post" data-once>` + field + `<input></form>`,
	} {
		var b strings.Builder
		if err := stamp(&b, []byte(page), `w"1`); err != nil || b.String() != want {
			t.Errorf("%s\nbecomes %s, %v", page, b.String(), err)
		}
	}
}
