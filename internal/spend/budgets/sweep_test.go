package budgets_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

// A period that has begun is opened by the sweep, and who waits is notified.
func TestPeriodsOpenByThemselves(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100))
	dbfactory.Exec(t, w.db, `DELETE FROM budget_period`)
	w.told()
	for want := 1; want >= 0; want-- {
		if n, err := w.Sweep(t.Context()); n != want || err != nil {
			t.Errorf("opened %d, %v; want %d", n, err, want)
		}
		if slices.Contains(w.told(), b.ID) != (want == 1) {
			t.Errorf("of %d opened periods the waiting were told otherwise", want)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget_period`); n != 1 || w.unequal() != 0 {
		t.Errorf("%d periods", n)
	}
}

// A budget whose money will not last says so once a period and holds low priorities;
// with enough money it lets them go.
func TestABudgetThatRunsOut(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100, func(in *budgets.Input) { in.Throttle, in.Period = true, budgets.Once }))
	// Seven days of ten dollars a day, and twenty are left.
	dbfactory.Exec(t, w.db, `INSERT INTO budget_hour (workspace_id, budget_id, period_start, hour, limit_nanos, settled_nanos, reserved_nanos,
			settled_tokens, reserved_tokens, runs)
		SELECT workspace_id, budget_id, period_start, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', limit_nanos,
			80000000000 - h * 10000000000 / 24, 0, 0, 0, 0 FROM budget_period, generate_series(1, 168) AS h`)
	w.book(b.ID, budgets.Settled, budgets.Free, budgets.Consumed, 80*dollar)
	for want := 1; want >= 0; want-- {
		if n, err := w.Foresee(t.Context()); n != want || err != nil {
			t.Errorf("told of %d, %v; want %d", n, err, want)
		}
	}
	got := w.get(b.ID)
	if v := got.Projection.Verdict; v != forecast.Throttle || got.ThrottledBelow == 0 || got.Projection.ExhaustedP50 == nil {
		t.Errorf("it holds priorities below %d and says %+v", got.ThrottledBelow, got.Projection)
	}
	if len(got.State.Alerts) != 1 || got.State.Alerts[0].Threshold != budgets.RunsOut || dbfactory.EventCount(t, w.db, "budget.will_run_out") != 1 {
		t.Errorf("it told %v", got.State.Alerts)
	}
	w.checkSeries(b.ID)
	if _, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: 1000 * dollar}); err != nil {
		t.Fatal(err)
	}
	w.told()
	if _, err := w.Foresee(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.get(b.ID); got.ThrottledBelow != 0 || got.Projection.Verdict != forecast.Enough || !slices.Contains(w.told(), b.ID) {
		t.Errorf("it holds priorities below %d and says %s", got.ThrottledBelow, got.Projection.Verdict)
	}
}

// checkSeries checks the series of a budget with a week behind it, of which 80 dollars are
// settled.
func (w *testWorkspace) checkSeries(id ids.ID) {
	t := w.t
	t.Helper()
	series, err := w.Series(t.Context(), w.who, id, budgets.Daily)
	if err != nil || len(series.Points) < 8 || len(series.Fan) == 0 || series.Points[len(series.Points)-1].Settled.Money != 80*dollar {
		t.Errorf("%d points, %d steps, %v", len(series.Points), len(series.Fan), err)
	}
	for i := 1; i < len(series.Points); i++ {
		if a, b := series.Points[i-1], series.Points[i]; !a.At.Before(b.At) || a.Settled.Money > b.Settled.Money {
			t.Errorf("%v comes before %v", a, b)
		}
	}
	if hours, err := w.Series(t.Context(), w.who, id, budgets.Hourly); err != nil || len(hours.Points) < 168 {
		t.Errorf("%d points by the hour, %v", len(hours.Points), err)
	}
}

// The hour's row follows the period, and the hours before stay.
func TestHoursAreKept(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100))
	for i := range 2 {
		w.book(b.ID, budgets.Settled, budgets.Free, budgets.Consumed, dollar)
		if _, err := w.Foresee(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := dbfactory.Int(t, w.db, `SELECT max(settled_nanos) / 1000000000 FROM budget_hour`); n != i+1 {
			t.Errorf("%d dollars are kept", n)
		}
	}
}

// What was spent before any hour was kept counts: a first day of $200 is no day of nothing,
// the throttle sees it, and it is reported that the money runs out.
func TestAFirstDayIsForeseen(t *testing.T) {
	for age, verdict := range map[string]forecast.Verdict{"1 minute": forecast.TooLittleData, "10 minutes": forecast.TooLittleData,
		"59 minutes": forecast.TooLittleData, "61 minutes": forecast.Throttle, "5 hours": forecast.Throttle, "23 hours": forecast.Throttle,
		"25 hours": forecast.Throttle, "6 days": forecast.Throttle} {
		t.Run(age, func(t *testing.T) {
			w := newTestWorkspace(t)
			b := w.made(monthly(201, func(in *budgets.Input) { in.Throttle, in.Period = true, budgets.Once }))
			w.book(b.ID, budgets.Settled, budgets.Free, budgets.Consumed, 200*dollar)
			dbfactory.Exec(t, w.db, `UPDATE budget_ledger SET at = now() - $1::interval`, age)
			told, err := w.Foresee(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := w.get(b.ID)
			if p := got.Projection; p.BurnPerDay1h == 0 || p.BurnPerDay24h < 30*dollar || p.BurnPerDay7d < 30*dollar || p.Verdict != verdict {
				t.Errorf("$200 in %s are %+v", age, p)
			}
			if short := verdict == forecast.Throttle; short != (got.ThrottledBelow > 0) || short != (told == 1) {
				t.Errorf("of $1 that is left after %s %d were told, and priorities below %d wait", age, told, got.ThrottledBelow)
			}
		})
	}
}

// The series begins where the budget does, so that what is spent in the first hour is seen, in that
// hour and later.
func TestTheFirstHourIsInTheSeries(t *testing.T) {
	for age, want := range map[string]int{"20 minutes": 2, "90 minutes": 3} {
		t.Run(age, func(t *testing.T) {
			w := newTestWorkspace(t)
			b := w.made(monthly(100, func(in *budgets.Input) { in.Period = budgets.Once }))
			w.book(b.ID, budgets.Settled, budgets.Free, budgets.Consumed, 40*dollar)
			dbfactory.Exec(t, w.db, `UPDATE budget SET created_at = now() - $1::interval`, age)
			if want == 3 {
				dbfactory.Exec(t, w.db, `INSERT INTO budget_hour (workspace_id, budget_id, period_start, hour, limit_nanos, settled_nanos,
					reserved_nanos, settled_tokens, reserved_tokens, runs)
					SELECT workspace_id, budget_id, period_start, date_trunc('hour', now() - interval '1 hour', 'UTC'), limit_nanos, settled_nanos,
						0, 0, 0, 0 FROM budget_period`)
			}
			series, err := w.Series(t.Context(), w.who, b.ID, budgets.Hourly)
			if err != nil || len(series.Points) != want {
				t.Fatalf("%d points, %v", len(series.Points), err)
			}
			first := series.Points[0]
			if made := w.get(b.ID).CreatedAt; !first.At.Equal(made) || first.Settled.Money != 0 || *first.Limits.Money != 100*dollar {
				t.Errorf("it begins with %+v", first)
			}
			if next := series.Points[1]; next.Settled.Money != 40*dollar {
				t.Errorf("after the first hour it stands at %+v", next)
			}
		})
	}
}

// How a period ended is kept also where nobody looked when it did.
func TestTheEndOfAPeriodIsKeptLater(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100, func(in *budgets.Input) { in.Period = budgets.Day }))
	dbfactory.Exec(t, w.db, `INSERT INTO budget_period (workspace_id, budget_id, period_start, period_end, limit_nanos, settled_nanos)
		SELECT workspace_id, budget_id, period_start - d * interval '1 day', period_end - d * interval '1 day', limit_nanos, 7000000000
		FROM budget_period, generate_series(1, 9) AS d`)
	for range 2 {
		if _, err := w.Foresee(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget_hour h JOIN budget_period p USING (workspace_id, budget_id, period_start)
		WHERE h.settled_nanos = 7000000000 AND h.hour < p.period_end AND h.hour >= p.period_end - interval '1 hour' AND h.budget_id = $1`, b.ID); n < 7 || n > 8 {
		t.Errorf("the ends of %d days are kept", n)
	}
}
