package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// bead returns a line of an export of beads.
func bead(id, title, more string, dependsOn ...string) string {
	var needs []string
	for _, other := range dependsOn {
		needs = append(needs, fmt.Sprintf(`{"issue_id":%q,"depends_on_id":%q,"type":"blocks"}`, id, other))
	}
	return fmt.Sprintf(`{"id":%q,"title":%q,%s"dependencies":[%s]}`+"\n", id, title, more, strings.Join(needs, ","))
}

// edit changes a job as a person does on the board.
func (w *serverAndTerminal) edit(key string, p api.JobPatch) {
	w.t.Helper()
	to := w.client(w.owner)
	job, err := to.GetJobWithResponse(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	p.Version = job.JSON200.Version
	if _, err := to.PatchJobWithResponse(w.t.Context(), key, p); err != nil {
		w.t.Fatal(err)
	}
}

// TestImportChangesWhatTheSourceChanged: priority and dependencies go by the file, field by
// field; what a person made a job wait for beside it stays, and the kind cannot change.
func TestImportChangesWhatTheSourceChanged(t *testing.T) {
	w := newServerAndTerminal(t)
	rest := bead("bd-2", "Second", "") + bead("bd-3", "Third", "") + bead("bd-4", "Fourth", `"status":"closed",`)
	w.imports("beads", bead("bd-1", "First", `"priority":0,"issue_type":"bug","description":"one\ntwo",`, "bd-2")+rest, "--yes").ok()
	jobs := w.imported()
	w.fleet("job", "create", "By hand", "--key", "HAND-1").ok()
	w.edit(jobs["First"].Key, api.JobPatch{DependsOn: &[]string{jobs["Second"].Key, "HAND-1"}})

	later := bead("bd-1", "First", `"priority":3,"issue_type":"feature","description":"one\nthree",`, "bd-3", "bd-4") + rest
	out := w.imports("beads", later, "--dry-run").ok()
	says(t, out, "0 to create, 1 to change, 2 unchanged, 1 skipped", "priority: 10 → 3",
		"depends_on: +"+jobs["Third"].Key+" −"+jobs["Second"].Key, `body, line 2: "two" → "three"`, "kind stays bug")
	if after := w.imported()["First"]; after.Priority != 10 {
		t.Errorf("a dry run changed %+v", after)
	}
	said := w.imports("beads", later, "--dry-run", "--json").ok()
	says(t, strings.Join(strings.Fields(said), ""), `{"field":"priority","old":10,"new":3}`)
	w.imports("beads", later, "--yes").ok()
	after := w.imported()["First"]
	slices.Sort(after.DependsOn)
	if after.Priority != 3 || after.Kind != "bug" || after.Body != "one\nthree" || !slices.Equal(after.DependsOn, []string{"HAND-1", jobs["Third"].Key}) {
		t.Errorf("%+v", after)
	}
	says(t, w.imports("beads", later, "--yes").ok(), "0 to create, 0 to change, 3 unchanged")
}

// TestImportTurnsDependenciesRound also where the server takes the changes in one order only.
func TestImportTurnsDependenciesRound(t *testing.T) {
	w := newServerAndTerminal(t)
	w.imports("beads", bead("bd-1", "First", "")+bead("bd-2", "Second", "", "bd-1"), "--yes").ok()
	w.imports("beads", bead("bd-1", "First", "", "bd-2")+bead("bd-2", "Second", ""), "--yes").ok()
	jobs := w.imported()
	if len(jobs["Second"].DependsOn) != 0 || !slices.Equal(jobs["First"].DependsOn, []string{jobs["Second"].Key}) {
		t.Errorf("%+v", jobs)
	}
}

// TestImportSaysWhatHasLeftTheFile and touches none of it. What is done, is another source's
// or has no tag any more is not its matter.
func TestImportSaysWhatHasLeftTheFile(t *testing.T) {
	w := newServerAndTerminal(t)
	first, rest := bead("bd-1", "First", ""), bead("bd-2", "Second", "")+bead("bd-3", "Third", "")+bead("bd-4", "Fourth", "")
	w.imports("beads", first+rest, "--yes").ok()
	w.imports("beads", bead("other-1", "Other", ""), "--yes").ok()
	w.imports("markdown", "- [ ] A task\n", "--yes").ok()
	jobs := w.imported()
	w.fleet("job", "cancel", jobs["Third"].Key, "--reason", "not now").ok()
	w.edit(jobs["Fourth"].Key, api.JobPatch{Tags: &[]string{}})

	out := w.imports("beads", first, "--yes").ok()
	says(t, out, "1 unchanged", "not in the file any more: "+jobs["Second"].Key+"\n")
	says(t, w.imports("beads", first, "--json").ok(), `"gone"`, jobs["Second"].Key)
	if got := w.imported()["Second"]; got.Version != jobs["Second"].Version {
		t.Errorf("%+v", got)
	}
	if out := w.imports("beads", first+rest, "--yes").ok(); strings.Contains(out, "not in the file") {
		t.Error(out)
	}
}

// TestImportFindsJobsWithoutTheirTag: they are changed as others, do not keep new ones from
// being made, and get no tag that a person took away.
func TestImportFindsJobsWithoutTheirTag(t *testing.T) {
	w := newServerAndTerminal(t)
	w.imports("beads", bead("bd-1", "First", "")+bead("bd-2", "Second", ""), "--yes").ok()
	jobs := w.imported()
	for _, title := range []string{"First", "Second"} {
		w.edit(jobs[title].Key, api.JobPatch{Tags: &[]string{}})
	}
	file := bead("bd-1", "Renamed", "") + bead("bd-2", "Second", "") + bead("bd-3", "Third", "", "bd-2")
	says(t, w.imports("beads", file, "--yes").ok(), "1 to create, 1 to change, 1 unchanged", "Imported.")
	after := w.imported()
	if len(after) != 3 || after["Renamed"].Key != jobs["First"].Key || len(after["Renamed"].Tags) != 0 || len(after["Third"].DependsOn) != 1 {
		t.Errorf("%+v", after)
	}
}

// TestImportMakesAgainWhatWasDeleted: the first answer is not taken for this one's.
func TestImportMakesAgainWhatWasDeleted(t *testing.T) {
	w := newServerAndTerminal(t)
	file := bead("bd-1", "First", "")
	w.imports("beads", file, "--yes").ok()
	key := w.imported()["First"].Key
	w.fleet("job", "cancel", key, "--reason", "not now").ok()
	if _, err := w.client(w.owner).DeleteJobWithResponse(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	w.imports("beads", file, "--yes").ok()
	if jobs := w.imported(); len(jobs) != 1 {
		t.Errorf("there are %v", jobs)
	}
}

// TestImportGoesOnAfterARefusal, says in one sentence which job was refused and why, and ends
// as refused.
func TestImportGoesOnAfterARefusal(t *testing.T) {
	w := newServerAndTerminal(t)
	w.imports("beads", bead("bd-1", "First", "")+bead("bd-2", "Second", ""), "--yes").ok()
	jobs := w.imported()
	w.fleet("job", "create", "By hand", "--key", "HAND-1").ok()
	w.edit("HAND-1", api.JobPatch{DependsOn: &[]string{jobs["First"].Key}})
	w.edit(jobs["Second"].Key, api.JobPatch{DependsOn: &[]string{"HAND-1"}})

	ran := w.imports("beads", bead("bd-1", "First", "", "bd-2")+bead("bd-2", "Renamed", ""), "--yes").ends(3)
	says(t, ran.err, jobs["First"].Key+" (line 1)", "1 job was refused")
	if after := w.imported(); after["Renamed"].Key != jobs["Second"].Key {
		t.Errorf("%+v", after)
	}
}
