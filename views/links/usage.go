package links

import (
	"net/url"
	"strconv"
)

// UsageView says which usage a page shows: of so many days (0 is the page's own choice),
// filtered by dimensions.
type UsageView struct {
	Days   int
	Stack  string // what the bars of days are divided by, "" for products
	Filter map[string][]string
}

func (v UsageView) values() url.Values {
	q := url.Values{}
	if v.Days > 0 {
		q.Set("days", strconv.Itoa(v.Days))
	}
	if v.Stack != "" {
		q.Set("stack", v.Stack)
	}
	for dimension, values := range v.Filter {
		setAll(q, dimension, values)
	}
	return q
}

// UsagePage returns the page of usage.
func UsagePage(v UsageView) string { return with(Usage, v.values()) }

// UsageOfJob returns the page of usage with that of one job.
func UsageOfJob(key string) string {
	return UsagePage(UsageView{Filter: map[string][]string{"job": {key}}})
}

// UsageBefore returns the page with entries older than one that a cursor names.
func UsageBefore(v UsageView, cursor string) string {
	q := v.values()
	q.Set("before", cursor)
	return with(Usage, q) + "#entries"
}

// UsageGroupsCSV returns the groups of a dimension as CSV.
func UsageGroupsCSV(v UsageView, by string) string {
	q := v.values()
	q.Set("by", by)
	return with(UsageGroups, q)
}

// UsageEntriesCSV returns the entries as CSV.
func UsageEntriesCSV(v UsageView) string { return with(UsageEntries, v.values()) }

// UsageFocusCSV returns the charges as CSV of FOCUS.
func UsageFocusCSV(v UsageView) string { return with(UsageFocus, v.values()) }

// PriceModels takes what a person says of a model without a price.
const PriceModels = Prices + "/models"

// PriceForm returns the page of prices with the form for a model begun.
func PriceForm(provider, model string) string {
	return with(Prices, url.Values{"provider": {provider}, "model": {model}}) + "#price-form"
}
