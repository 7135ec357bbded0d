package usagecsv_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

//go:embed testdata/focus-1.2.rules
var publishedRules []byte

// claimed are the conditions of the specification that hold of us: workspaces and products have names, tokens are
// counted, and charges have tags. There is no public list of prices of ours, and no price of a single token of an
// entry, in which tokens of five prices come together.
var claimed = []string{"ACCOUNT_NAMING_SUPPORTED", "USAGE_MEASUREMENT_SUPPORTED", "SUB_ACCOUNT_SUPPORTED", "TAGGING_SUPPORTED"}

// focusRule is a rule of the specification, as the model of its requirements has it: a function and its arguments.
type focusRule struct {
	ID      string
	Keyword string
	Where   []string // must hold for a column to be wanted
	If      []any
	Rule    []any
}

func readRules(t *testing.T) (list []focusRule) {
	t.Helper()
	for lines := bufio.NewScanner(bytes.NewReader(publishedRules)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var r focusRule
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if len(list) != 169 {
		t.Fatalf("there are %d rules", len(list))
	}
	return list
}

// dataset is a file in the form of FOCUS.
type dataset struct {
	columns []string
	rows    [][]string
}

// at returns a cell; "" is null.
func (d dataset) at(row []string, column string) string {
	if i := slices.Index(d.columns, column); i >= 0 {
		return row[i]
	}
	return ""
}

// findBroken returns the rules that the file breaks, each with a cell of the first row that breaks it.
func (d dataset) findBroken(rules []focusRule) map[string]string {
	broken := map[string]string{}
	for _, r := range rules {
		if r.Rule[0] == "ColumnPresent" {
			wanted := !slices.ContainsFunc(r.Where, func(c string) bool { return !slices.Contains(claimed, c) })
			if wanted && !slices.Contains(d.columns, fmt.Sprint(r.Rule[1])) {
				broken[r.ID] = "is missing"
			}
			continue
		}
		for _, row := range d.rows {
			if broken[r.ID] == "" && (len(r.If) == 0 || d.holds(row, r.If)) && !d.holds(row, r.Rule) {
				broken[r.ID] = fmt.Sprintf("has %q", d.at(row, fmt.Sprint(r.Rule[1])))
			}
		}
	}
	return broken
}

var (
	numeric  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?(E-?[0-9]+)?$`)
	dateTime = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`)
	unit     = regexp.MustCompile(`^([1-9][0-9]* )?[A-Z][a-z]+s?([/-][A-Z][a-z]+s?)?$`)
)

// holds says whether a function of a rule holds of a row.
func (d dataset) holds(row []string, of []any) bool {
	list := func(i int) []any { return of[i].([]any) }
	one := func(i int) string { return d.at(row, of[i].(string)) }
	switch of[0] {
	case "AND":
		return !slices.ContainsFunc(of[1:], func(x any) bool { return !d.holds(row, x.([]any)) })
	case "OR":
		return slices.ContainsFunc(of[1:], func(x any) bool { return d.holds(row, x.([]any)) })
	case "CheckValue":
		return isValue(one(1), of[2])
	case "CheckNotValue":
		return !isValue(one(1), of[2])
	case "CheckValues":
		return slices.Contains(list(2), any(one(1)))
	case "CheckPairs":
		return slices.ContainsFunc(list(3), func(p any) bool { return p.([]any)[0] == one(1) && p.([]any)[1] == one(2) })
	case "CheckSameValue", "CheckNotSameValue":
		return (one(1) == one(2)) == (of[0] == "CheckSameValue")
	case "CheckDistinctCount":
		values := map[string]bool{}
		for _, r := range d.rows {
			if d.at(r, of[1].(string)) == one(1) {
				values[d.at(r, of[2].(string))] = true
			}
		}
		return len(values) == int(of[3].(float64))
	case "ColumnByColumnEqualsColumnValue":
		a, b, product := new(big.Rat), new(big.Rat), new(big.Rat)
		for i, n := range []*big.Rat{a, b, product} {
			n.SetString(one(i + 1))
		}
		return a.Mul(a, b).Cmp(product) == 0
	}
	return one(1) == "" || hasForm(of[0].(string), one(1))
}

// isValue compares a cell with a value, nil for null.
func isValue(cell string, value any) bool {
	if n, is := value.(float64); is {
		is, ok := new(big.Rat).SetString(cell)
		return ok && is.Cmp(new(big.Rat).SetFloat64(n)) == 0
	}
	if value == nil {
		return cell == ""
	}
	return cell == value
}

// hasForm says whether a value that is not null has a type or a format of the specification.
func hasForm(name, cell string) bool {
	switch name {
	case "TypeString", "FormatString": // StringHandling
		return utf8.ValidString(cell) && strings.TrimSpace(cell) != ""
	case "TypeDecimal", "FormatNumeric", "CheckDecimalValue": // NumericFormat
		return numeric.MatchString(cell)
	case "TypeDateTime", "FormatDateTime": // DateTimeFormat
		return dateTime.MatchString(cell)
	case "FormatUnit": // UnitFormat
		return unit.MatchString(cell)
	case "FormatCurrency", "CheckNationalCurrency": // CurrencyFormat: ISO 4217, of which we use one
		return cell == "USD"
	case "FormatKeyValue": // KeyValueFormat
		var object map[string]any
		err := json.Unmarshal([]byte(cell), &object)
		for _, value := range object {
			switch value.(type) {
			case map[string]any, []any:
				return false
			}
		}
		return err == nil && object != nil
	}
	panic("there is no check " + name)
}

// The checks find what is wrong, each by the rule that it breaks.
func TestTheRulesOfFocusFindWhatIsWrong(t *testing.T) {
	good := dataset{columns: focusHead(t), rows: [][]string{focusRow(t)}}
	rules := readRules(t)
	for id, cell := range map[string]string{"BilledCost-C-003-M": "BilledCost=", "BilledCost-C-002-M": "BilledCost=1,5", "ListCost-C-002-M": "ListCost=+1",
		"BilledCost-C-005-C": "InvoiceIssuerName=somebody", "BillingPeriodStart-C-002-M": "BillingPeriodStart=2026-11-01 00:00:00",
		"ChargePeriodEnd-C-003-M": "ChargePeriodEnd=", "ChargeClass-C-005-C": "ChargeClass=Fix", "ChargeCategory-C-003-M": "ChargeCategory=Tokens",
		"PricingUnit-C-006-C": "PricingUnit=", "PricingQuantity-C-005-C": "PricingQuantity=", "ConsumedUnit-C-006-C": "ConsumedUnit=",
		"ConsumedUnit-C-003-O": "ConsumedUnit=tokens", "Tags-C-001-M": `Tags={"a":{"b":1}}`, "BillingCurrency-C-006-M": "BillingCurrency=usd",
		"ServiceSubcategory-C-004-M": "ServiceCategory=Storage", "SubAccountName-C-005-C": "SubAccountName=", "SkuId-C-005-C": "SkuId=",
		"EffectiveCost-C-005-C": "ChargeCategory=Purchase", "ProviderName-C-002-M": "ProviderName= ", "ConsumedQuantity-C-004-C": "ChargeCategory=Credit"} {
		column, value, _ := strings.Cut(cell, "=")
		wrong := dataset{good.columns, [][]string{slices.Clone(good.rows[0])}}
		wrong.rows[0][slices.Index(good.columns, column)] = value
		if broken := wrong.findBroken(rules); broken[id] == "" {
			t.Errorf("%s breaks %v, and not %s", cell, broken, id)
		}
	}
	without := dataset{columns: slices.Clone(good.columns), rows: good.rows}
	without.columns[slices.Index(without.columns, "ChargeClass")] = "Class"
	if broken := without.findBroken(rules); broken["CostAndUsage-D-026-M"] == "" {
		t.Errorf("without a column: %v", broken)
	}
}
