// Package usagecsv writes usage as CSV, for spreadsheets: sums of groups, entries, and ledgers. A
// cell that a spreadsheet would take for a formula begins with an apostrophe.
package usagecsv

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
)

// ContentType is what an answer with CSV says of itself.
const ContentType = "text/csv; charset=utf-8"

var meters = []string{"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens"}

// WriteSums writes a line with the names of columns and one for each group. A cost that is
// unknown is empty.
func WriteSums(w io.Writer, by usage.Dimension, sums []usage.Sum) error {
	head := append([]string{string(by), "label", "entries"}, meters...)
	lines := [][]string{append(head, "cost_usd", "reported_cost_usd", "imputed_usd", "unpriced_entries", "unpriced_tokens")}
	for _, s := range sums {
		cost := ""
		if known, ok := s.Cost(); ok {
			cost = known.Fixed()
		}
		line := append([]string{text(s.Group), text(s.Label), number(s.Entries)}, tokens(s.Usage)...)
		lines = append(lines, append(line, cost, s.Reported.Fixed(), s.Imputed.Fixed(), number(s.Unpriced), number(s.UnpricedTokens)))
	}
	return write(w, lines)
}

// WriteEntries writes a line with the names of columns and one for each entry: those of
// the first page, then those that next gives until there are no more. It holds one page at
// a time. An amount that is unknown is empty.
func WriteEntries(w io.Writer, page []usage.Entry, more bool, next func(usage.Position) ([]usage.Entry, bool, error)) error {
	head := append([]string{"id", "booked_at", "job", "epoch", "product", "phase", "repo", "agent", "factory", "provider", "model",
		"provider_session", "operation"}, meters...)
	err := write(w, [][]string{append(head, "charged_usd", "computed_usd", "reported_usd", "late", "batch")})
	for err == nil {
		if err = write(w, entryLines(page)); err != nil || !more {
			return err
		}
		page, more, err = next(page[len(page)-1].Position())
	}
	return err
}

func entryLines(list []usage.Entry) [][]string {
	lines := make([][]string, 0, len(list))
	for _, e := range list {
		line := append([]string{text(e.ID), e.BookedAt.UTC().Format(time.RFC3339Nano), text(e.JobKey), number(e.Epoch), text(e.Product),
			text(e.Phase), text(e.Repo), text(e.Agent), text(e.Factory), text(e.Provider), text(e.Model), text(e.Session),
			text(e.Operation)}, tokens(e.Usage)...)
		lines = append(lines, append(line, e.Charged.Fixed(), amount(e.ComputedNanos), amount(e.ReportedNanos), strconv.FormatBool(e.Late),
			strconv.FormatBool(e.Batch)))
	}
	return lines
}

func write(w io.Writer, lines [][]string) error {
	if err := csv.NewWriter(w).WriteAll(lines); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func tokens(u spend.Usage) []string {
	return []string{number(u.Input), number(u.Output), number(u.CacheRead), number(u.CacheWrite), number(u.CacheWrite1h)}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func amount(n *spend.Nanos) string {
	if n == nil {
		return ""
	}
	return n.Fixed()
}

// text returns a cell that no spreadsheet runs.
func text(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}
