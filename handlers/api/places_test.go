package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Repos have names, and files are inside their repository, wherever a caller names them.
func TestReposAndFilesStayInside(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.agent("ada")
	w.job("Ours", object{"key": "OURS"})
	quote := func(s string) string { raw, _ := json.Marshal(s); return string(raw) }
	for _, repo := range []string{"..", "../x", "a/../b", "a//b", "/etc", "-rf", "a/-b", ".git", "a/.git", "a.lock", "a..b", "a/", `a\b`, "C:/x", "a\tb", "a b"} {
		said := quote(repo)
		for field, c := range map[string]struct{ token, method, path, body string }{
			"repo":                  {w.owner, "POST", "/jobs", `{"title":"x","repo":` + said + `}`},
			"jobs[1].repo":          {w.owner, "POST", "/jobs/batch", `{"jobs":[{"title":"x"},{"title":"y","repo":` + said + `}]}`},
			"repo ":                 {w.owner, "PATCH", "/jobs/OURS", `{"version":1,"repo":` + said + `}`},
			"repo  ":                {w.owner, "POST", "/routability", `{"repo":` + said + `}`},
			"repos[0]":              {w.owner, "PUT", "/products/shop", `{"repos":[` + said + `]}`},
			"factory.repos[0].name": {w.enrolment, "PUT", "/agents/eve", `{"boot_id":"b","factory":{"name":"f","repos":[{"name":` + said + `}]}}`},
		} {
			w.as(c.token, c.method, c.path, c.body).want(422).refused(fault.Validation, strings.TrimSpace(field))
		}
		if repo != "a\tb" && repo != "a b" {
			w.as(w.owner, "POST", "/jobs", `{"title":"x","capabilities":[`+quote("repo:"+repo)+`]}`).want(422).refused(fault.Validation, "capabilities[0]")
		}
	}
	for _, file := range []string{"../x", "/etc/passwd", `C:\x`, "C:/x", "a//b", "a/../b", ".git/config", "a/.git/hooks", `a\b`, "~/x", "{a,..}/b", "a\nb", "./a"} {
		said := quote(file)
		w.as(w.owner, "POST", "/jobs", `{"title":"x","files":["ok/**",`+said+`]}`).want(422).refused(fault.Validation, "files[1]")
		w.as(w.owner, "POST", "/jobs/batch", `{"jobs":[{"title":"x"},{"title":"y","files":[`+said+`]}]}`).want(422).refused(fault.Validation, "jobs[1].files[0]")
		w.as(w.owner, "PATCH", "/jobs/OURS", `{"version":1,"files":[`+said+`]}`).want(422).refused(fault.Validation, "files[0]")
	}
	w.as(w.owner, "POST", "/jobs", `{"title":"x","repo":"acme/web.js","files":["src/{a,b}/**/*.go","docs/",".github/*"],"capabilities":["repo:acme/web.js"]}`).want(201)
}
