package api_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// recordedRuns are what real programs printed, by the job that they worked on; the tokens
// are what the program itself reports, and the cost is that of the list of prices.
var recordedRuns = []struct {
	title   string
	program func(transcript.Run) transcript.Translator
	runs    []string
	run     transcript.Run
	tokens  [5]int64 // input, cache read, cache write, cache write for an hour, output
	cost    string
}{
	// 1273 * $3 + 4364 * $0.30 + 1058 * $3.75 + 311 * $6 + 171 * $15, for a million, in each of two runs.
	{"Claude Code", transcript.ClaudeCode, []string{"claude-code-first", "claude-code-resumed"}, transcript.Run{},
		[5]int64{2546, 8728, 2116, 622, 342}, "0.027053400"},
	// Sonnet as before, of 1232, 2251, 907, 311 and 80; Haiku: 1273 * $1 + 4364 * $0.10 + 1058 * $1.25 + 311 * $2 + 171 * $5.
	{"Claude Code with a subagent", transcript.ClaudeCode, []string{"claude-code-subagent"}, transcript.Run{},
		[5]int64{2505, 6615, 1965, 622, 251}, "0.015347450"},
	// 5284 * $1.25 + 8728 * $0.125 + 342 * $10.
	{"Codex", transcript.Codex, []string{"codex-first", "codex-resumed"}, transcript.Run{Provider: "openai", Model: "gpt-5-codex"},
		[5]int64{5284, 8728, 0, 0, 342}, "0.011116000"},
	// No list knows the model, so what OpenCode reports counts.
	{"OpenCode", transcript.OpenCode, []string{"opencode-first", "opencode-resumed"}, transcript.Run{Provider: "local", Model: "scripted"},
		[5]int64{5284, 8728, 0, 0, 342}, "0.011116000"},
}

// Reported line by line, twice, shuffled, cut in the middle and read again: a job has used what
// the program says that it used, and costs what the prices say, to the billionth.
func TestRecordedUsageReachesTheProgramsOwnTotals(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(16, 16))
	for _, way := range []string{"line by line", "twice", "lines shuffled", "entries shuffled", "cut and read again"} {
		t.Run(way, func(t *testing.T) {
			w := newAPIServer(t)
			ada := w.agent("ada")
			for _, r := range recordedRuns {
				key := w.job(r.title)
				ref := w.claim(ada)
				for _, batch := range tellings(t, way, r.program, r.runs, r.run, random) {
					answers := w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": batch})).want(200)
					for i := range batch {
						if status := answers.text("results", i, "status"); status != "recorded" && status != "raised" && status != "known" {
							t.Fatalf("%s: %s", r.title, answers.raw)
						}
					}
				}
				w.as(ada, "POST", "/fleet/complete", ref).want(200)
				used := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
				var tokens [5]int64
				for i, meter := range []string{"input", "cache_read", "cache_write", "cache_write_1h", "output"} {
					tokens[i] = used.number("usage", meter+"_tokens")
				}
				if diff := cmp.Diff(r.tokens, tokens); diff != "" {
					t.Errorf("%s: tokens (-want +got):\n%s", r.title, diff)
				}
				if !bytes.Contains(used.raw, []byte(`"cost_usd":"`+r.cost+`",`)) {
					t.Errorf("%s: it costs %v; want %s", r.title, used.at("usage", "cost_usd"), r.cost)
				}
			}
		})
	}
}

// tellings returns the batches of entries in which recordings are reported.
func tellings(t *testing.T, way string, program func(transcript.Run) transcript.Translator, runs []string, run transcript.Run, random *rand.Rand) (batches [][]object) {
	t.Helper()
	var told []object
	for _, name := range runs {
		raw, err := os.ReadFile("../../internal/client/engines/transcript/testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
		run.ID = name
		switch way {
		case "twice":
			told = append(told, translate(t, program, run, lines)...)
		case "lines shuffled":
			random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		case "cut and read again":
			told = append(told, translate(t, program, run, lines[:len(lines)/2])...)
		}
		told = append(told, translate(t, program, run, lines)...)
	}
	if way == "entries shuffled" {
		random.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
	}
	if way == "line by line" {
		return slices.Collect(slices.Chunk(told, 1))
	}
	return slices.Collect(slices.Chunk(told, 7))
}

// translate makes entries of lines, as an agent sends them.
func translate(t *testing.T, program func(transcript.Run) transcript.Translator, run transcript.Run, lines [][]byte) (list []object) {
	t.Helper()
	translator := program(run)
	var told []transcript.Entry
	for _, l := range lines {
		told = append(told, translator.Line(l, time.Now())...)
	}
	for _, e := range append(told, translator.End(time.Now())...) {
		text, err := json.Marshal(e)
		var entry object
		if err == nil {
			err = json.Unmarshal(text, &entry)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry)
	}
	return list
}
