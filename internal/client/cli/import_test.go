package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// imports writes a file and imports it.
func (w *serverAndTerminal) imports(format, text string, flags ...string) ran {
	w.t.Helper()
	path := filepath.Join(w.home, "tasks.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return w.fleet(append([]string{"import", format, path}, flags...)...)
}

// imported returns the jobs that imports have made, by title.
func (w *serverAndTerminal) imported() map[string]api.Job {
	w.t.Helper()
	var page api.JobPage
	w.fleet("job", "list", "--json").into(&page)
	jobs := map[string]api.Job{}
	for _, one := range page.Items {
		var job api.Job
		w.fleet("job", "show", one.Key, "--json").into(&job)
		jobs[job.Title] = job
	}
	return jobs
}

func says(t *testing.T, out string, all ...string) {
	t.Helper()
	for _, text := range all {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
}

// TestImportIsRepeatable: the same file changes nothing the second time, an edit changes its
// job, and what has left the file stays.
func TestImportIsRepeatable(t *testing.T) {
	w := newServerAndTerminal(t)
	one := `{"id":"bd-1","title":"%s","status":"open","priority":0,"issue_type":"bug","labels":["ui"],` +
		`"dependencies":[{"issue_id":"bd-1","depends_on_id":"bd-2","type":"blocks"},{"issue_id":"bd-1","depends_on_id":"bd-3","type":"blocks"}]}` + "\n"
	two := `{"id":"bd-2","title":"Second","status":"open","description":"do it"}` + "\n"
	done := `{"id":"bd-3","title":"Done","status":"closed"}` + "\n"
	first := fmt.Sprintf(one, "First") + two + done

	says(t, w.imports("beads", first, "--dry-run").ok(), "2 to create, 0 to change, 0 unchanged, 1 skipped")
	if jobs := w.imported(); len(jobs) != 0 {
		t.Fatalf("a dry run made %v", jobs)
	}
	says(t, w.imports("beads", first).ends(2).err, "--yes")
	says(t, w.imports("beads", first, "--yes").ok(), "Imported.")
	jobs := w.imported()
	if got := jobs["First"]; len(jobs) != 2 || got.Priority != 10 || got.Kind != "bug" || len(got.DependsOn) != 1 ||
		got.DependsOn[0] != jobs["Second"].Key || strings.Join(got.Tags, " ") != "import:beads ui" {
		t.Fatalf("%+v", jobs)
	}
	says(t, w.imports("beads", first, "--yes").ok(), "0 to create, 0 to change, 2 unchanged, 1 skipped")

	edited := fmt.Sprintf(one, "Renamed")
	says(t, w.imports("beads", edited, "--yes").ok(), "0 to create, 1 to change, 0 unchanged, 0 skipped", "title", "Imported.")
	after := w.imported()
	if len(after) != 2 || after["Renamed"].Key != jobs["First"].Key || after["Second"].Version != jobs["Second"].Version {
		t.Errorf("%+v", after)
	}
	w.fleet("job", "cancel", after["Renamed"].Key, "--reason", "not now").ok()
	says(t, w.imports("beads", first, "--yes").ok(), "0 to create, 0 to change, 1 unchanged, 2 skipped", "job is ")
}

// TestImportTakesWhatItCan cuts what is too long, breaks circles and says so; many jobs with
// long bodies come in several requests, dependencies first.
func TestImportTakesWhatItCan(t *testing.T) {
	w := newServerAndTerminal(t)
	var file strings.Builder
	const many = 250
	for i := range many {
		next := (i + 1) % many
		fmt.Fprintf(&file, `{"id":"bd-%d","title":"Job %d","description":"%s","issue_type":"odd kind/x",`+
			`"dependencies":[{"depends_on_id":"bd-%d","type":"blocks"},{"depends_on_id":"gone","type":"blocks"}]}`+"\n",
			i, i, strings.Repeat("ü", 500), next)
	}
	fmt.Fprintf(&file, `{"id":"long","title":"%s","description":"%s"}`+"\n", strings.Repeat("t", 300), strings.Repeat("<", 120_000))
	fmt.Fprintf(&file, `{"id":"wide","title":"Wide","description":"%s"}`+"\n", strings.Repeat("漢", 90_000))
	file.WriteString(`{"id":"none"}` + "\n")
	says(t, w.imports("beads", file.String(), "--yes").ok(), "252 to create, 0 to change, 0 unchanged, 1 skipped", "Imported.")
	out := w.imports("beads", file.String(), "--yes", "--json").ok()
	says(t, out, `"title cut to 200 characters"`, `"body cut to 100000 characters"`, `"has no title"`, `"body cut to what a request holds"`)
	if strings.Contains(out, `"action":"create"`) || strings.Contains(out, `"action":"change"`) {
		t.Error("the second time is not the same as the first")
	}
}

func TestImportOfTheOtherFormats(t *testing.T) {
	w := newServerAndTerminal(t)
	list := "- [ ] Ship\n  - [ ] Test\n  - [x] Write\n"
	w.imports("markdown", list, "--yes").ok()
	says(t, w.imports("markdown", list, "--yes").ok(), "0 to create, 0 to change, 2 unchanged, 1 skipped")
	issues := `[{"title":"Crash","body":"b","state":"OPEN","url":"https://github.com/acme/web/issues/12","labels":[{"name":"ui"}]}]`
	w.imports("github", issues, "--yes").ok()
	says(t, w.imports("github", issues, "--yes").ok(), "0 to create, 0 to change, 1 unchanged, 0 skipped")
	jobs := w.imported()
	if len(jobs) != 3 || len(jobs["Ship"].DependsOn) != 1 || jobs["Ship"].DependsOn[0] != jobs["Test"].Key {
		t.Errorf("%+v", jobs)
	}
	says(t, w.imports("github", "[\n{", "--yes").ends(2).err, "line 2")
	says(t, w.fleet("import", "beads", filepath.Join(w.home, "none")).ends(2).err, "none")
}

// TestImportAsksAtATerminal and does nothing without a yes.
func TestImportAsksAtATerminal(t *testing.T) {
	w := newServerAndTerminal(t)
	w.secret = "a terminal"
	path := filepath.Join(w.home, "tasks.md")
	if err := os.WriteFile(path, []byte("- [ ] Ship\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, w.fleetIn("n\n", "import", "markdown", path).ends(2).err, "nothing was changed")
	says(t, w.fleetIn("", "import", "markdown", path).ends(2).err, "nothing was changed")
	if len(w.imported()) != 0 {
		t.Error("changed without a yes")
	}
	says(t, w.fleetIn("y\n", "import", "markdown", path).ok(), "Imported.")
}
