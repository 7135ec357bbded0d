package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
)

// session is what an agent does with the files of this repository: it reads some, changes lines of them, reads
// them again, runs the tests, and says why.
type session struct {
	random *rand.Rand
	files  []string
	known  []string // read before
	steps  []transcript.Step
}

func newSession(t *testing.T, seed uint64) *session {
	t.Helper()
	s := &session{random: rand.New(rand.NewPCG(seed, 1))}
	for _, dir := range []string{"../dispatch/*", "../jobs", "../bus", "../../handlers/api", "../../internal/client/worker"} {
		found, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, found...)
	}
	return s
}

func (s *session) add(kind transcript.Kind, title, text string, change ...func(*transcript.Step)) {
	n := len(s.steps) + 1
	step := transcript.Step{N: int64(n), At: time.Unix(1_795_000_000+int64(n)*7, int64(s.random.IntN(1e9))), Kind: kind, Title: title, Text: text}
	for _, c := range change {
		c(&step)
	}
	s.steps = append(s.steps, step)
}

// turn is a call of the model with what it does.
func (s *session) turn(t *testing.T) {
	t.Helper()
	path := s.files[s.random.IntN(len(s.files))]
	if len(s.known) > 0 && s.random.IntN(2) == 0 {
		path = s.known[s.random.IntN(len(s.known))]
	}
	s.known = append(s.known, path)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	why := strings.Join(strings.Fields(lines[s.random.IntN(len(lines))]), " ")
	s.add(transcript.Message, fmt.Sprintf("I look at %s, since %.150s", filepath.Base(path), why), "")
	from := s.random.IntN(len(lines))
	var shown strings.Builder
	for i, line := range lines[from:min(from+200, len(lines))] {
		fmt.Fprintf(&shown, "%6d\t%s\n", from+i+1, line)
	}
	s.add(transcript.Tool, "Read "+path, fmt.Sprintf(`{"file_path":%q,"offset":%d,"limit":200}`, path, from), func(s *transcript.Step) { s.Tool = "Read" })
	s.add(transcript.Output, "Read", shown.String()[:min(8000, shown.Len())], func(s *transcript.Step) { s.Tool = "Read" })
	at := s.random.IntN(len(lines))
	diff := fmt.Sprintf("@@ -%d,7 +%d,8 @@\n", at, at)
	for _, line := range lines[at:min(at+6, len(lines))] {
		diff += "-" + line + "\n+" + strings.ReplaceAll(line, "err", fmt.Sprintf("err%x", s.random.Uint32())) + "\n"
	}
	s.add(transcript.Edit, "Edit "+path, diff, func(s *transcript.Step) { s.Tool, s.Path = "Edit", path })
	s.add(transcript.Tool, "go test ./"+filepath.Dir(path), `{"command":"go test ./`+filepath.Dir(path)+`"}`, func(s *transcript.Step) { s.Tool = "Bash" })
	out := ""
	for i := range 4 + s.random.IntN(12) {
		out += fmt.Sprintf("    %s:%d: got %x; want %x\n--- FAIL: TestCase%d (%.2fs)\n", filepath.Base(path), s.random.IntN(300), s.random.Uint64(), s.random.Uint32(), i,
			s.random.Float64())
	}
	s.add(transcript.Output, "exit 1", out, func(s *transcript.Step) { s.Tool = "Bash" })
	s.add(transcript.Usage, "claude-sonnet-4-5", "", func(u *transcript.Step) { u.Tokens, u.Cost = int64(s.random.IntN(20_000)), int64(s.random.IntN(1e8)) })
}

// asRow writes a step as a table with a row for each would have it.
func (w *testWorkspace) asRow(job ids.ID, s transcript.Step) {
	dbfactory.Exec(w.T, w.DB, `INSERT INTO step_row VALUES ($1, $2, 1, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, w.Workspace, job, s.N, s.At, string(s.Kind),
		s.Title, s.Text, s.Tool, s.Path, s.Tokens, s.Cost)
}

// What attempts with a megabyte of steps take of PostgreSQL, where the steps come as a worker sends them, a few at a
// time: with indexes and what lies beside rows, against what a row for each step takes.
func TestATranscriptTakesLittle(t *testing.T) {
	w := newTestWorkspace(t)
	const attempts, megabyte = 6, 1 << 20
	dbfactory.Exec(t, w.DB, `CREATE TABLE step_row (workspace_id uuid, job_id uuid, epoch bigint, n bigint, at timestamptz, kind text, title text,
		body text, tool text, path text, tokens bigint, cost bigint, PRIMARY KEY (workspace_id, job_id, epoch, n))`)
	total, steps := 0, 0
	for i := range attempts {
		agent := w.Agent(fmt.Sprint("claude-", i))
		w.Job(fmt.Sprint("job ", i))
		held := w.Claim(agent)
		s := newSession(t, uint64(i))
		size, sent := 0, 0
		for size < megabyte {
			s.turn(t)
			for sent < len(s.steps) {
				next := min(sent+1+s.random.IntN(4), len(s.steps))
				for _, one := range s.steps[sent:next] {
					size += int(one.Size())
					w.asRow(held.ID, one)
				}
				w.did(agent, held, s.steps[sent:next]...)
				dbfactory.Exec(t, w.DB, `UPDATE job_transcript SET minute_bytes = 0`)
				sent = next
			}
		}
		total, steps = total+size, steps+len(s.steps)
	}
	for _, table := range []string{"job_transcript", "job_transcript_chunk", "step_row"} {
		dbfactory.Exec(t, w.DB, `VACUUM FULL `+table) // what a measurement of six attempts is not to count: space for later ones
	}
	number := func(sql string) int { return dbfactory.Int(t, w.DB, "SELECT "+sql) }
	all := number(`pg_total_relation_size('job_transcript_chunk') + pg_total_relation_size('job_transcript')`)
	beside := number(`pg_total_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'job_transcript_chunk'`)
	rows, chunks := number(`pg_total_relation_size('step_row')`), number(`count(*) FROM job_transcript_chunk`)
	share := func(n int) float64 { return 100 * float64(n) / float64(total) }
	t.Logf("%d attempts with %d KB in %d steps: %d chunks of %d KB (%.1f %%), %.1f %% of it rows and indexes; a row for each step: %d KB (%.1f %%). "+
		"10,000 attempts of 1 MB: %.2f GB against %.2f", attempts, total>>10, steps, chunks, all>>10, share(all), share(all-beside), rows>>10, share(rows),
		share(all)/100*10_000/1024, share(rows)/100*10_000/1024)
	if share(all) > 30 || share(all-beside) > 5 || chunks > steps/50 {
		t.Errorf("they take more than 30 %%, their rows more than 5 %%, or there are many")
	}
}
