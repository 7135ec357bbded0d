package ledger

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// readLedgers reads the ledgers of all periods as people do, and checks that the rows add up to
// the period, that what is left begins with its first row, and that each row of a lease names its
// entry.
func (l *life) readLedgers() {
	l.T.Helper()
	for _, b := range l.budgets {
		rows, err := l.conn.Query(l.Ctx, `SELECT period_start FROM budget_period WHERE workspace_id = $1 AND budget_id = $2`, l.Workspace, b.id)
		l.must(err, "read periods")
		starts, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
		l.must(err, "read periods")
		for _, start := range starts {
			l.readLedger(b, start)
		}
	}
}

func (l *life) readLedger(b *budget, start time.Time) {
	l.T.Helper()
	var added, taken, settled, held, left budgets.Amounts
	var unpriced int64
	add := func(to *budgets.Amounts, more budgets.Amounts) {
		to.Money, to.Tokens, to.Runs = to.Money+more.Money, to.Tokens+more.Tokens, to.Runs+more.Runs
	}
	query := budgets.RowsQuery{Period: start, Limit: 1 + l.r.IntN(9)}
	for {
		page, err := l.money.Rows(l.Ctx, l.Owner, b.id, query)
		l.must(err, "read the ledger of "+b.name)
		for _, r := range page.Rows {
			add(&added, r.Added)
			add(&taken, r.Taken)
			add(&held, r.Held)
			if r.To == budgets.Consumed {
				add(&settled, r.Taken)
			}
			if r.Kind == budgets.Settled && r.JobID != ids.Nil && r.Entry == "" {
				l.fatal("a row of %s has no entry: %+v", b.name, r)
			}
			unpriced += r.UnpricedTokens
			left = r.Left
			left.Money, left.Tokens, left.Runs = left.Money+r.Taken.Money-r.Added.Money, left.Tokens+r.Taken.Tokens-r.Added.Tokens,
				left.Runs+r.Taken.Runs-r.Added.Runs
		}
		if page.Next == "" {
			s := page.Period
			limit := budgets.Amounts{Money: or(s.Money), Tokens: or(s.Tokens), Runs: or(s.Runs)}
			spent := taken
			add(&spent, budgets.Amounts{Money: limit.Money - added.Money, Tokens: limit.Tokens - added.Tokens, Runs: limit.Runs - added.Runs})
			if spent != s.Settled || settled != s.Settled || held != s.Reserved || unpriced != s.UnpricedTokens {
				l.fatal("%s of %s stands at %+v; its rows add %+v, take %+v, settle %+v, reserve %+v", b.name, start, s, added, taken, settled, held)
			}
			if (left != budgets.Amounts{}) {
				l.fatal("%s of %s begins with %+v", b.name, start, left)
			}
			return
		}
		query.From, err = budgets.ParseRowCursor("before", page.Next)
		l.must(err, "go on")
	}
}

// or returns a limit, 0 where there is none.
func or[T any](limit *T) (n T) {
	if limit != nil {
		n = *limit
	}
	return n
}
