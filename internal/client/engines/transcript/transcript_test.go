package transcript_test

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// recording is what a program printed in one run.
type recording struct {
	program func(transcript.Run) transcript.Translator
	name    string
	run     transcript.Run
}

func (r recording) lines(t *testing.T) [][]byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + r.name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
}

// of returns what a translator makes of lines, each entry as it is reported.
func (r recording) of(t *testing.T, lines [][]byte) (told []transcript.Entry) {
	t.Helper()
	tr := r.program(r.run)
	for _, l := range lines {
		told = append(told, tr.Line(l, noon)...)
	}
	return append(told, tr.End(noon)...)
}

var (
	claudeFirst     = recording{transcript.ClaudeCode, "claude-code-first", transcript.Run{ID: "FB-1/1"}}
	claudeResumed   = recording{transcript.ClaudeCode, "claude-code-resumed", transcript.Run{ID: "FB-1/2"}}
	claudeSubagent  = recording{transcript.ClaudeCode, "claude-code-subagent", transcript.Run{ID: "FB-2/1"}}
	codexFirst      = recording{transcript.Codex, "codex-first", transcript.Run{ID: "FB-3/1", Provider: "openai", Model: "gpt-5-codex"}}
	codexResumed    = recording{transcript.Codex, "codex-resumed", transcript.Run{ID: "FB-3/2", Provider: "openai", Model: "gpt-5-codex"}}
	openCodeFirst   = recording{transcript.OpenCode, "opencode-first", transcript.Run{ID: "FB-4/1", Provider: "local", Model: "scripted"}}
	openCodeResumed = recording{transcript.OpenCode, "opencode-resumed", transcript.Run{ID: "FB-4/2", Provider: "local", Model: "scripted"}}
)

// total is the tokens of a model.
type total struct{ Input, CacheRead, CacheWrite, CacheWrite1h, Output int64 }

// sum raises entries as the server does, and adds them up by model, with the reported cost.
func sum(t *testing.T, told []transcript.Entry) (tokens map[string]total, cost string) {
	t.Helper()
	entries := map[string]transcript.Entry{}
	for _, e := range told {
		was, again := entries[e.ID]
		if again && (was.Model != e.Model || was.Provider != e.Provider || was.Session != e.Session) {
			t.Errorf("%s was of %s/%s in %s, and now of %s/%s in %s", e.ID, was.Provider, was.Model, was.Session, e.Provider, e.Model, e.Session)
		}
		e.Input, e.Output, e.CacheRead = max(e.Input, was.Input), max(e.Output, was.Output), max(e.CacheRead, was.CacheRead)
		e.CacheWrite, e.CacheWrite1h = max(e.CacheWrite, was.CacheWrite), max(e.CacheWrite1h, was.CacheWrite1h)
		if rat(e.Cost).Cmp(rat(was.Cost)) < 0 {
			e.Cost = was.Cost
		}
		entries[e.ID] = e
	}
	tokens, all := map[string]total{}, new(big.Rat)
	for _, e := range entries {
		m := tokens[e.Model]
		tokens[e.Model] = total{m.Input + e.Input, m.CacheRead + e.CacheRead, m.CacheWrite + e.CacheWrite, m.CacheWrite1h + e.CacheWrite1h, m.Output + e.Output}
		all.Add(all, rat(e.Cost))
	}
	return tokens, all.FloatString(9)
}

func rat(amount string) *big.Rat {
	r, ok := new(big.Rat).SetString(amount)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// whole is what the scripted model said that it used in a run of three answers.
var whole = total{Input: 1273, CacheRead: 4364, CacheWrite: 1058, CacheWrite1h: 311, Output: 171}

// Recordings of one session or several give the totals that the program itself reports: in
// its last line, in its store of sessions, and in dollars where it reports them.
func TestRecordingsGiveTheProgramsOwnTotals(t *testing.T) {
	t.Parallel()
	double := func(m total) total {
		return total{2 * m.Input, 2 * m.CacheRead, 2 * m.CacheWrite, 2 * m.CacheWrite1h, 2 * m.Output}
	}
	// Written tokens are input for those who do not count them apart.
	flat := total{Input: whole.Input + whole.CacheWrite + whole.CacheWrite1h, CacheRead: whole.CacheRead, Output: whole.Output}
	for name, c := range map[string]struct {
		runs []recording
		want map[string]total
		cost string
	}{
		"Claude Code":          {[]recording{claudeFirst}, map[string]total{"claude-sonnet-4-5": whole}, "0.013526700"},
		"Claude Code, resumed": {[]recording{claudeFirst, claudeResumed}, map[string]total{"claude-sonnet-4-5": double(whole)}, "0.027053400"},
		// The subagent's last answer stands on no line but the last one.
		"Claude Code with a subagent": {[]recording{claudeSubagent}, map[string]total{"claude-haiku-4-5": whole,
			"claude-sonnet-4-5": {Input: 1232, CacheRead: 2251, CacheWrite: 907, CacheWrite1h: 311, Output: 80}}, "0.015347450"},
		"Codex":             {[]recording{codexFirst}, map[string]total{"gpt-5-codex": flat}, "0.000000000"},
		"Codex, resumed":    {[]recording{codexFirst, codexResumed}, map[string]total{"gpt-5-codex": double(flat)}, "0.000000000"},
		"OpenCode":          {[]recording{openCodeFirst}, map[string]total{"scripted": flat}, "0.005558000"},
		"OpenCode, resumed": {[]recording{openCodeFirst, openCodeResumed}, map[string]total{"scripted": double(flat)}, "0.011116000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, told := range tellings(t, c.runs) {
				tokens, cost := sum(t, told)
				if diff := cmp.Diff(c.want, tokens); diff != "" || cost != c.cost {
					t.Errorf("%s: $%s, want $%s (-want +got):\n%s", way, cost, c.cost, diff)
				}
			}
		})
	}
}

// tellings returns the ways in which what was printed may reach a server.
func tellings(t *testing.T, runs []recording) map[string][]transcript.Entry {
	t.Helper()
	random := rand.New(rand.NewPCG(16, 5))
	ways := map[string][]transcript.Entry{}
	for i, r := range runs {
		lines := r.lines(t)
		told := r.of(t, lines)
		ways["line by line"] = append(ways["line by line"], told...)
		ways["twice"] = append(append(ways["twice"], told...), r.of(t, lines)...)
		ways["each line twice"] = append(ways["each line twice"], r.of(t, slices.Concat(lines, lines))...)
		for n := range 20 {
			shuffled := slices.Clone(lines)
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			way := fmt.Sprint("lines shuffled, ", n)
			ways[way] = append(ways[way], r.of(t, shuffled)...)
			// Cut at some line, by a crash of whoever reads, and then read again as a whole.
			way = fmt.Sprint("cut and read again, ", n)
			ways[way] = slices.Concat(ways[way], r.of(t, lines[:random.IntN(len(lines))]), told)
		}
		if i == len(runs)-1 {
			for n := range 20 {
				told := slices.Concat(ways["twice"], told)
				random.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
				ways[fmt.Sprint("entries shuffled, ", n)] = told
			}
		}
	}
	return ways
}

// Wherever the output is cut, what was reported is never more than the total, and grows with
// what was read.
func TestACutRecordingNeverTellsTooMuch(t *testing.T) {
	t.Parallel()
	for _, r := range []recording{claudeFirst, claudeResumed, claudeSubagent, codexFirst, openCodeFirst} {
		lines := r.lines(t)
		all, _ := sum(t, r.of(t, lines))
		before := map[string]total{}
		for cut := range lines {
			now, _ := sum(t, r.of(t, lines[:cut]))
			for model, m := range now {
				if !atMost(m, all[model]) {
					t.Errorf("%s cut after %d lines: %+v of %s; at the end %+v", r.name, cut, m, model, all[model])
				}
			}
			for model, m := range before {
				if !atMost(m, now[model]) {
					t.Errorf("%s: %s falls from %+v to %+v at line %d", r.name, model, m, now[model], cut)
				}
			}
			before = now
		}
	}
	// What a message cost is reported before the run ends.
	if killed, _ := sum(t, claudeFirst.of(t, claudeFirst.lines(t)[:7])); killed["claude-sonnet-4-5"].CacheRead != 2113 {
		t.Errorf("a run that was killed told %+v", killed)
	}
}

func atMost(a, b total) bool {
	return a.Input <= b.Input && a.CacheRead <= b.CacheRead && a.CacheWrite <= b.CacheWrite && a.CacheWrite1h <= b.CacheWrite1h && a.Output <= b.Output
}

// Lines that are no JSON, or none that is known, give nothing.
func TestLinesThatSayNothing(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]func(transcript.Run) transcript.Translator{"Claude Code": transcript.ClaudeCode,
		"Codex": transcript.Codex, "OpenCode": transcript.OpenCode} {
		r := recording{program: p, run: transcript.Run{ID: "x"}}
		told := r.of(t, [][]byte{[]byte(""), []byte("npm warn"), []byte("null"), []byte(`{"type":"assistant"}`), []byte(`{"type":"turn.completed"}`),
			[]byte(`{"type":"step_finish"}`), []byte(`{"type":"assistant","message":"text"}`), []byte(`[1]`)})
		if len(told) > 0 {
			t.Errorf("%s: %+v", name, told)
		}
	}
}

// Amounts are written as the API takes them, to the billionth.
func TestReportedCosts(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{"0.013526700000000001": "0.013526700", "1e-7": "0.000000100", "0": "0.000000000", "-1": "", "null": ""} {
		line := fmt.Sprintf(`{"type":"step_finish","sessionID":"s","part":{"id":"p","cost":%s,"tokens":{"input":1}}}`, number)
		r := recording{program: transcript.OpenCode}
		if told := r.of(t, [][]byte{[]byte(line)}); len(told) != 1 || told[0].Cost != want {
			t.Errorf("%s: %+v; want %q", number, told, want)
		}
	}
}
