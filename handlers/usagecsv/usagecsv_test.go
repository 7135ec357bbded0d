package usagecsv_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/usagecsv"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
)

// What agents call things is read as text, whatever it begins with and holds.
func TestNoCellIsAFormula(t *testing.T) {
	hostile := []string{`=HYPERLINK("http://evil","x")`, "+1", "-1", "@SUM(A1)", "\tx", "\rx", `a,"b"` + "\nc", "", "claude-1"}
	sums := make([]usage.Sum, 0, len(hostile))
	entries := make([]usage.Entry, 0, len(hostile))
	for _, name := range hostile {
		sums = append(sums, usage.Sum{Group: name, Label: name})
		entries = append(entries, usage.Entry{ID: name, JobKey: name, Product: name, Phase: name, Repo: name, Agent: name, Factory: name,
			Provider: name, Model: name, Session: name, Operation: name})
	}
	var text strings.Builder
	for _, err := range []error{usagecsv.WriteSums(&text, usage.Model, sums), usagecsv.WriteEntries(&text, entries, false, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := csv.NewReader(strings.NewReader(text.String()))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil || len(lines) != 2+2*len(hostile) {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for _, line := range lines {
		for _, cell := range line {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("a spreadsheet runs %q", cell)
			}
		}
	}
}

func TestSumsAsCSV(t *testing.T) {
	var text strings.Builder
	known := spend.Usage{Entries: 2, Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, CacheWrite1h: 50, Charged: 1_500_000_000, Reported: 5, Imputed: 7}
	unknown := spend.Usage{Entries: 1, Unpriced: 1, UnpricedTokens: 9, Input: 9}
	if err := usagecsv.WriteSums(&text, usage.Job, []usage.Sum{{Usage: known, Group: "T-1", Label: "One"}, {Usage: unknown, Group: "T-2"}}); err != nil {
		t.Fatal(err)
	}
	want := "job,label,entries,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cache_write_1h_tokens,cost_usd,reported_cost_usd," +
		"imputed_usd,unpriced_entries,unpriced_tokens\n" +
		"T-1,One,2,10,20,30,40,50,1.500000000,0.000000005,0.000000007,0,0\n" +
		"T-2,,1,9,0,0,0,0,,0.000000000,0.000000000,1,9\n"
	if text.String() != want {
		t.Errorf("it writes\n%s", text.String())
	}
}
