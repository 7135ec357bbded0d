package usagecsv

import (
	"io"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// ledgerColumns are the columns of a period's ledger.
var ledgerColumns = []string{"at", "kind", "job", "attempt", "agent", "provider", "model", "entry",
	"added_usd", "taken_usd", "reserved_usd", "left_usd", "added_tokens", "taken_tokens", "reserved_tokens", "left_tokens",
	"added_runs", "taken_runs", "left_runs", "unpriced_tokens", "other_budget", "until", "reason", "actor"}

// WriteLedger writes a line with the names of columns and one for each row of a period: those of
// the first page, then those that next gives until there are no more. It holds one page at a time.
// What is left of something without a limit is empty.
func WriteLedger(w io.Writer, page budgets.Rows, next func(cursor string) (budgets.Rows, error)) error {
	limits := page.Period.Limits
	err := write(w, [][]string{ledgerColumns})
	for err == nil {
		if err = write(w, ledgerLines(page.Rows, limits)); err != nil || page.Next == "" {
			return err
		}
		page, err = next(page.Next)
	}
	return err
}

func ledgerLines(rows []budgets.Row, limits budgets.Limits) [][]string {
	limited := func(has bool, amount string) string {
		if !has {
			return ""
		}
		return amount
	}
	lines := make([][]string, 0, len(rows))
	for _, r := range rows {
		attempt := ""
		if r.Epoch > 0 {
			attempt = number(r.Epoch)
		}
		until := ""
		if r.Until != nil {
			until = r.Until.UTC().Format(time.RFC3339Nano)
		}
		lines = append(lines, []string{r.At.UTC().Format(time.RFC3339Nano), text(string(r.Kind)), text(r.JobKey), attempt, text(r.Agent),
			text(r.Provider), text(r.Model), text(r.Entry),
			r.Added.Money.Fixed(), r.Taken.Money.Fixed(), r.Held.Money.Fixed(), limited(limits.Money != nil, r.Left.Money.Fixed()),
			number(r.Added.Tokens), number(r.Taken.Tokens), number(r.Held.Tokens), limited(limits.Tokens != nil, number(r.Left.Tokens)),
			number(r.Added.Runs), number(r.Taken.Runs), limited(limits.Runs != nil, number(r.Left.Runs)),
			number(r.UnpricedTokens), text(r.OtherName), until, text(r.Reason), text(r.Actor)})
	}
	return lines
}
