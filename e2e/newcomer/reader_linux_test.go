package newcomer

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbtest"
)

// fence is a block of code of a page: its kind is what stands behind the three marks.
type fence struct {
	page       string
	line       int
	kind, text string
}

func (f fence) at() string { return fmt.Sprintf("docs/%s:%d", f.page, f.line) }

// kinds are those that blocks of the pages have, and what a test does with them.
var kinds = map[string]string{
	"sh": "run", "sh background": "started", "sh container": "run with a docker that has no containers",
	"sh cluster": "run with a kubectl that has no cluster", "output": "looked for in what the block before prints",
	"sql": "executed", "json": "read", "yaml": "read by make check-deploy",
}

// fences returns the blocks of a page, of which each has one of the kinds.
func fences(t *testing.T, page string) (list []fence) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for n, line := range strings.Split(string(text), "\n") {
		kind, mark := strings.CutPrefix(line, "```")
		switch {
		case mark && !open:
			list, open = append(list, fence{page: page, line: n + 1, kind: kind}), true
		case mark:
			open = false
		case open:
			list[len(list)-1].text += line + "\n"
		}
	}
	for _, f := range list {
		if kinds[f.kind] == "" {
			t.Errorf("%s: a block is %q, and has to be one of %v", f.at(), f.kind, kinds)
		}
	}
	return list
}

// reader follows a page from its beginning to its end.
type reader struct {
	*clone

	path    string            // where the shell looks for programs, before those of the machine
	stands  map[string]string // what stands for an example of the page
	started []*heard
	printed map[string]int // how often a block of a kind was followed
}

func newReader(t *testing.T) *reader {
	t.Helper()
	c := newClone(t)
	if err := os.CopyFS(filepath.Join(c.dir, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	absent, err := filepath.Abs("testdata/absent")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{clone: c, path: filepath.Join(c.dir, "bin"), stands: map[string]string{}, printed: map[string]int{}}
	c.prepare = func(shell *exec.Cmd, block string) {
		path := r.path
		if strings.HasPrefix(block, absentMark) {
			path = absent + ":" + filepath.Join(c.dir, "bin")
		}
		shell.Env = append(shell.Env, "PATH="+path+":"+os.Getenv("PATH"), "FLEET="+fleetBinary)
	}
	return r
}

// absentMark begins a block that is run with programs that know no container and no cluster.
const absentMark = ": absent\n"

// follow does what a page says, and wants to see what it shows.
func (r *reader) follow(page []fence) {
	r.t.Helper()
	for i, f := range page {
		text := f.text
		for example, real := range r.stands {
			text = strings.ReplaceAll(text, example, real)
		}
		var want []string
		if i+1 < len(page) && page[i+1].kind == "output" {
			want = strings.Split(strings.TrimSpace(r.lines(page[i+1].text)), "\n")
		}
		var said func() string
		switch f.kind {
		case "sh":
			out := r.paste(text)
			said = func() string { return out }
		case "sh container", "sh cluster":
			r.paste(absentMark + text)
		case "sh background":
			if want == nil {
				r.t.Fatalf("%s goes on, and no output says when it has begun", f.at())
			}
			out := r.pasteAndLeave(text, "")
			r.started = append(r.started, out)
			until(r.t, f.at()+" prints "+strings.Join(want, ", "), func() bool { return lacks(out.String(), want) == "" })
			said = out.String
		case "json":
			if !json.Valid([]byte(text)) {
				r.t.Errorf("%s is no JSON", f.at())
			}
		case "sql":
			r.execute(f)
		}
		if said == nil {
			continue
		}
		r.printed[f.kind]++
		if line := lacks(said(), want); line != "" {
			r.t.Errorf("%s does not print %q:\n%s", f.at(), line, said())
		}
	}
}

// lacks returns a line that is wanted and was not printed; "…" stands for anything.
func lacks(said string, want []string) string {
	for _, line := range want {
		parts := strings.Split(strings.TrimSpace(line), "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		if !regexp.MustCompile(strings.Join(parts, ".*")).MatchString(said) {
			return line
		}
	}
	return ""
}

// execute runs a block of SQL as the owner of a database in which the person of the page has lost a second factor.
func (r *reader) execute(f fence) {
	r.t.Helper()
	d := dbtest.New(r.t)
	if err := dbtest.AsOwner(r.t, d, func(conn *pgx.Conn) error {
		_, err := conn.Exec(r.t.Context(), `
			WITH a AS (INSERT INTO account (id, email, name) VALUES (gen_random_uuid(), 'ada@example.org', 'Ada') RETURNING id),
			t AS (INSERT INTO account_totp (account_id, sealed) SELECT id, '\x00' FROM a)
			INSERT INTO recovery_code (account_id, code_hash) SELECT id, '\x00' FROM a`)
		if err != nil {
			return err
		}
		if _, err = conn.Exec(r.t.Context(), f.text); err != nil {
			return err
		}
		var left int
		err = conn.QueryRow(r.t.Context(),
			`SELECT (SELECT count(*) FROM account_totp) + (SELECT count(*) FROM recovery_code)`).Scan(&left)
		if left > 0 {
			r.t.Errorf("%s leaves %d rows", f.at(), left)
		}
		return err
	}); err != nil {
		r.t.Errorf("%s: %v", f.at(), err)
	}
}

// serve starts the server of a page that takes one for granted.
func (r *reader) serve() {
	r.t.Helper()
	r.pasteAndLeave("bin/fleetboard", "Fleetboard is at http://"+r.address)
}

// end ends what goes on, the last one first, as an interrupt does.
func (r *reader) end() {
	for _, out := range slices.Backward(r.started) {
		out.end()
	}
	r.started = nil
}
