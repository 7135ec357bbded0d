package cli_test

import (
	"strings"
	"testing"
)

// The commands say what a person does next: they are lines that can be pasted.
func TestWhatComesNextIsSaid(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("Add a licence", "--repo", "hello", "--review")
	watch := w.start("job", "watch", key, "--until", "blocked")
	watch.says(key + " ready")
	w.fleet("job", "claim", key, "--repo", "hello").ok()
	w.fleet("job", "ask", strings.ToLower(key), "Which licence?").ok()
	if said := watch.ends(0); !strings.Contains(said, "It asks: Which licence?\n    fleet job answer "+key) {
		t.Errorf("a question: %s", said)
	}
	w.fleet("job", "answer", key, "MIT").ok()

	w.fleet("job", "claim", key, "--repo", "hello").ok()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	w.fleet("job", "complete", strings.ToLower(key), "--branch", "fleet/"+key+"-e2", "--commit", commit, "--summary", "It is there.",
		"--url", "https://git.example.com/team/hello/pulls/7").ok()
	said := w.fleet("job", "watch", key, "--until", "in-review").ok()
	for _, want := range []string{"fleet job approve " + key, "fleet job reject " + key + ` --reason "…"`} {
		if !strings.Contains(said, want) {
			t.Errorf("in review it does not say %q: %s", want, said)
		}
	}
	said = w.fleet("job", "show", key).ok()
	for _, want := range []string{"\nbranch        fleet/" + key + "-e2\n", "\ncommit        " + commit + "\n", "\nsummary\n  It is there.\n",
		"\npull request  https://git.example.com/team/hello/pulls/7\n",
		"    git fetch origin fleet/" + key + "-e2 && git diff HEAD...FETCH_HEAD\n", "fleet job approve " + key} {
		if !strings.Contains(said, want) {
			t.Errorf("`job show` does not say %q:\n%s", want, said)
		}
	}
	merge := []string{"A person merges it", "git merge " + commit, "fleet job merge " + key + ` --commit "$(git rev-parse HEAD)"`}
	for _, args := range [][]string{{"job", "approve", key}, {"job", "show", key}, {"job", "watch", key, "--until", "in_review"}} {
		said := w.fleet(args...).ok()
		for _, want := range merge {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q:\n%s", args, want, said)
			}
		}
	}
	w.fleet("job", "merge", key, "--commit", commit).ok()
	if said := w.fleet("job", "show", key).ok(); strings.Contains(said, "how to get it") || !strings.Contains(said, "merged as     "+commit) {
		t.Errorf("merged work: %s", said)
	}
}

// What agents write never stands in a line that is pasted, and no step is empty.
func TestHostileBranchesAreNoLines(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	for _, branch := range []string{"--upload-pack=touch x", "a; touch x", "$(touch x)", "a`touch x`", "a\nb"} {
		key := w.create("Work", "--repo", "hello", "--review")
		w.fleet("job", "claim", key, "--repo", "hello").ok()
		w.fleet("job", "complete", key, "--branch", branch, "--commit", "0123456789abcdef").ok()
		said := w.fleet("job", "show", key).ok() + w.fleet("job", "approve", key).ok()
		if strings.Contains(said, "git fetch") || strings.Contains(said, "git merge") {
			t.Errorf("%q is pasted:\n%s", branch, said)
		}
		if !strings.Contains(said, "fleet job merge "+key) {
			t.Errorf("%q: it does not say what is next:\n%s", branch, said)
		}
	}
}

// A job that ends otherwise than it was watched for says so.
func TestAWatchedJobEndsOtherwise(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	key := w.create("Work")
	w.fleet("job", "cancel", key, "--reason", "no").ok()
	if said := w.fleet("job", "watch", key, "--until", "in_review").ends(1).err; !strings.Contains(said, key+" is aborted") {
		t.Errorf("it says %s", said)
	}
	w.fleet("job", "watch", key, "--until", "aborted").ok()
	w.fleet("job", "watch", key).ends(1)
}
