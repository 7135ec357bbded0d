package usagecsv_test

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/handlers/usagecsv"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
)

var (
	october  = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	december = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	account  = usage.Account{ID: ids.New(), Name: "=Kestrel"}
)

// charge returns the last hour of an October, in which a million tokens cost a dollar and a half.
func charge() usage.Charge {
	const cost = spend.Nanos(1_500_000_000)
	return usage.Charge{Hour: october.AddDate(0, 1, 0).Add(-time.Hour), JobID: ids.New(), JobKey: "FB-1", Epoch: 1, ProductID: ids.New(),
		Product: "ledger", Agent: "ada", Factory: "desk", Provider: "house", Model: "small",
		Usage: spend.Usage{Entries: 1, Input: 900_000, Output: 100_000, Charged: cost, Reported: cost, UnpricedTokens: 1_000_000}}
}

// focused returns a file in the form of FOCUS.
func focused(t *testing.T, of usage.Account, list ...usage.Charge) dataset {
	t.Helper()
	return readFocus(t, func(w *strings.Builder) error { return usagecsv.WriteFocus(w, of, list, false, nil) })
}

func readFocus(t *testing.T, write func(*strings.Builder) error) dataset {
	t.Helper()
	var text strings.Builder
	if err := write(&text); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	return dataset{columns: lines[0], rows: lines[1:]}
}

func focusHead(t *testing.T) []string { t.Helper(); return focused(t, account).columns }

func focusRow(t *testing.T) []string { t.Helper(); return focused(t, account, charge()).rows[0] }

// isFocus asks of a file what the specification does: each published rule, and of columns what it says in words.
func isFocus(t *testing.T, d dataset) {
	t.Helper()
	for id, what := range d.findBroken(readRules(t)) {
		// Nothing is invoiced here: a number of an invoice is recommended where there is one.
		if id != "CostAndUsage-D-033-O" {
			t.Errorf("%s is broken: it %s", id, what)
		}
	}
	// ColumnHandling: Pascal case, no special characters, at most 50 of them, those of ours last.
	ours := slices.IndexFunc(d.columns, func(c string) bool { return strings.HasPrefix(c, "x_") })
	for i, c := range d.columns {
		if !regexp.MustCompile(`^(x_)?[A-Z][A-Za-z0-9]{0,48}$`).MatchString(c) || strings.HasPrefix(c, "x_") != (i >= ours) {
			t.Errorf("the column %d is called %q", i, c)
		}
	}
	for _, row := range d.rows {
		start, end := d.at(row, "BillingPeriodStart"), d.at(row, "BillingPeriodEnd")
		from, err := time.Parse(time.RFC3339, start)
		if err != nil || from.AddDate(0, 1, 0).Format(time.RFC3339) != end || from.Day() != 1 || from.Hour() != 0 {
			t.Errorf("a billing period is from %s to %s", start, end)
		}
		if used, until := d.at(row, "ChargePeriodStart"), d.at(row, "ChargePeriodEnd"); used < start || until > end || used >= until {
			t.Errorf("of %s to %s, billed from %s to %s", used, until, start, end)
		}
		for i, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r\n") && !numeric.MatchString(cell) {
				t.Errorf("a spreadsheet runs %s: %q", d.columns[i], cell)
			}
		}
	}
}

// A charge says what it stands on, and money and hours to the last digit.
func TestAChargeInFocus(t *testing.T) {
	with := func(change func(*usage.Charge)) usage.Charge {
		c := charge()
		c.Usage = spend.Usage{Entries: 1, Input: 1}
		change(&c)
		return c
	}
	list := []usage.Charge{charge(),
		with(func(c *usage.Charge) { c.Charged, c.Computed, c.Reported = 7, 7, 9 }),
		with(func(c *usage.Charge) { c.Imputed = 7 }),
		with(func(c *usage.Charge) { c.Unpriced, c.UnpricedTokens = 1, 1 }),
		with(func(c *usage.Charge) { c.UnpricedTokens = 1 }),
		with(func(c *usage.Charge) { c.Charged, c.Computed, c.Imputed, c.Unpriced = 7, 7, 2, 1 }),
		with(func(c *usage.Charge) { c.Charged, c.Computed, c.Entries, c.Corrects = -7, -7, 0, true }),
		with(func(c *usage.Charge) { c.Product, c.JobKey = "", "" }),
	}
	d := focused(t, account, list...)
	isFocus(t, d)
	for i, want := range []string{"1.500000000 1.500000000 Reported", "0.000000007 0.000000007 Price", "0.000000000 0.000000007 FlatRate",
		"0.000000000 0.000000000 Unknown", "0.000000000 0.000000000 Reported", "0.000000007 0.000000009 Mixed",
		"-0.000000007 -0.000000007 Price Correction", "0.000000000 0.000000000 Price"} {
		var got []string
		for _, c := range []string{"BilledCost", "ListCost", "x_CostBasis", "ChargeClass"} {
			got = append(got, d.at(d.rows[i], c))
		}
		if is := strings.TrimSpace(strings.Join(got, " ")); is != want {
			t.Errorf("charge %d is %s; want %s", i, is, want)
		}
	}
	for column, want := range map[string]string{"ChargePeriodStart": "2026-10-31T23:00:00Z", "ChargePeriodEnd": "2026-11-01T00:00:00Z",
		"BillingPeriodStart": "2026-10-01T00:00:00Z", "BillingPeriodEnd": "2026-11-01T00:00:00Z", "ConsumedQuantity": "1000000",
		"BillingAccountName": "'=Kestrel", "ProviderName": "house"} {
		if is := d.at(d.rows[0], column); is != want {
			t.Errorf("%s is %q; want %q", column, is, want)
		}
	}
	if name := d.at(d.rows[7], "SubAccountName"); name != list[7].ProductID.String() {
		t.Errorf("a product that is gone is called %q", name)
	}
}

// Names are what agents and people say.
func TestHostileNamesInFocus(t *testing.T) {
	var list []usage.Charge
	for _, name := range []string{`=HYPERLINK("http://evil","x")`, "+1", "-1", "@SUM(A1)", "\tx", "\rx", "a,\"b\"\nc", "日本", `{"a":1}`, "'", "<b>"} {
		c := charge()
		c.JobKey, c.Product, c.Phase, c.Repo, c.Agent, c.Factory, c.Provider, c.Model = name, name, name, name, name, name, name, name
		list = append(list, c)
	}
	isFocus(t, focused(t, account, list...))
}
