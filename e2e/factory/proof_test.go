package factory

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// proved is what a job's result has of proofs.
type proved struct {
	Commit string `json:"commit"`
	Proofs []struct{ Criterion, Commit, Blob, Title string }
	Error  string `json:"proof_error"`
}

func (s *serverAndRepos) proofsOf(key string) (p proved) {
	s.t.Helper()
	if err := json.Unmarshal(s.untilStatus(key, api.JobStatusInReview).Result, &p); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// proves has work on "ledger" proved by a command, and makes a job that commits a file for two criteria.
func (s *serverAndRepos) proves(command string, steps ...step) (key string) {
	s.t.Helper()
	if _, err := s.person.PutProductWithResponse(s.t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"},
		ReviewRequired: new(true), ProofCommand: &command}); err != nil {
		s.t.Fatal(err)
	}
	return s.submitAs(api.NewJob{Title: "Prove it", Repo: new("ledger"), Acceptance: &[]string{"It says one.", "It is told."}},
		append([]step{{"run": "echo one >one.txt; echo mine >ignored; echo ignored >.gitignore"}}, steps...)...)
}

func (s *serverAndRepos) blob(name string) string {
	s.t.Helper()
	answer, err := s.person.GetBlob(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

// The worker runs the product's command in a clean checkout of the commit, and hands in what it writes for each
// criterion, bound to that commit.
func TestWorkIsProvedInItsCommit(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	key := s.proves(`cp one.txt "$FLEETBOARD_PROOF/1.txt"; ` +
		`test "$(git rev-parse HEAD)" = "$FLEETBOARD_COMMIT" && test ! -e ignored && test -z "$(git status --porcelain)" && echo clean >"$FLEETBOARD_PROOF/2-tree"; ` +
		`printf '\211PNG\377' >"$FLEETBOARD_PROOF/1.png"`)
	p := s.proofsOf(key)
	var got []string
	for _, one := range p.Proofs {
		if one.Commit != p.Commit {
			t.Errorf("%s is of %s, not %s", one.Title, one.Commit, p.Commit)
		}
		got = append(got, fmt.Sprintf("%s %s %q", one.Criterion, one.Title, s.blob(one.Blob)))
	}
	if want := []string{`It says one. 1.png "\x89PNG\xff"`, `It says one. 1.txt "one\n"`, `It is told. 2-tree "clean\n"`}; !slices.Equal(got, want) || p.Error != "" {
		t.Errorf("the proofs are %q, %s", got, p.Error)
	}
	if left, _ := filepath.Glob(filepath.Join(s.state("desk"), "merges", "*")); len(left) > 0 {
		t.Errorf("these are left: %s", left)
	}
}

// A command that fails loses nothing: the work is handed in with what the command wrote before, and its last lines.
func TestAProofThatFailsLosesNoWork(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	p := s.proofsOf(s.proves(`exec 2>&1; echo one >"$FLEETBOARD_PROOF/1.txt"; seq 100000 | sed 's/^/line /'; echo the browser is missing >&2; exit 7`))
	if len(p.Proofs) != 1 || p.Commit == "" || !strings.Contains(p.Error, "The proof command failed") || !strings.Contains(p.Error, "it ended with status 7") ||
		!strings.HasSuffix(p.Error, "the browser is missing") || len(p.Error) > 4000 {
		t.Errorf("it is %+v", p)
	}
}

// A command that never ends, and leaves children that have left its group, is ended; what it put into the
// directory is not followed, waited for or read beyond its bounds.
func TestAHostileProofIsHeldOff(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk", "--proof-time", "3s")
	p := s.proofsOf(s.proves(`cd "$FLEETBOARD_PROOF"; echo one >1.txt; ln -s /etc/passwd 1-passwd; mkfifo 2-pipe; truncate -s 1G 2-big; echo x >'-rf'; ` +
		`printf '<svg onload="alert(1)"/>' >2.svg; (setsid sh -c 'echo $$ >` + s.dir + `/left; exec sleep 1000' &) ; sleep 1000`))
	var titles []string
	for _, one := range p.Proofs {
		titles = append(titles, one.Title)
	}
	if !slices.Equal(titles, []string{"1.txt", "2.svg"}) {
		t.Errorf("the proofs are %q", titles)
	}
	for _, want := range []string{"it took longer than 3s", "1-passwd is left out: it is no regular file.", "2-pipe is left out: it is no regular file.",
		"2-big is left out: a proof has at most 8 MB.", "-rf is left out: its name does not begin with the number of a criterion."} {
		if !strings.Contains(p.Error, want) {
			t.Errorf("it does not say %q: %s", want, p.Error)
		}
	}
	pid, err := os.ReadFile(filepath.Join(s.dir, "left"))
	if err != nil {
		t.Fatal(err)
	}
	s.until("what was left running has ended", func() bool {
		_, err := os.Stat(filepath.Join("/proc", strings.TrimSpace(string(pid))))
		return err != nil
	})
}

// A criterion that a person changes while the agent works refuses the proofs, not the work.
func TestRefusedProofsLoseNoWork(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	key := s.proves(`echo one >"$FLEETBOARD_PROOF/1.txt"`, step{"run": "touch " + s.dir + "/works; until test -e " + s.dir + "/go; do sleep 0.05; done"})
	s.untilFile("works")
	if _, err := s.person.PatchJobWithResponse(t.Context(), key, api.JobPatch{Version: s.job(key).Version, Acceptance: &[]string{"It says two."}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if p := s.proofsOf(key); p.Commit == "" || len(p.Proofs) > 0 || !strings.Contains(p.Error, "The proofs were refused") || !strings.Contains(p.Error, "proofs[0].criterion") {
		t.Errorf("it is %+v", p)
	}
}
