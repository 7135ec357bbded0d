package usagecsv

import (
	"encoding/json"
	"io"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend/usage"
)

// focusColumns are the columns of FOCUS 1.2 that usage has values for, and then ours, whose names begin with
// x_ as the specification wants it of columns that are not its own.
var focusColumns = []string{
	"BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd",
	"BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency",
	"ChargePeriodEnd", "ChargePeriodStart", "ConsumedQuantity", "ConsumedUnit", "ContractedCost",
	"EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingQuantity", "PricingUnit", "ProviderName",
	"PublisherName", "ServiceCategory", "ServiceName", "ServiceSubcategory", "SkuId", "SkuMeter",
	"SubAccountId", "SubAccountName", "Tags", "x_CostBasis", "x_ImputedCost", "x_ReportedCost",
	"x_UnpricedEntries", "x_UnpricedTokens", "x_Entries", "x_Attempt", "x_Model", "x_InputTokens",
	"x_OutputTokens", "x_CacheReadTokens", "x_CacheWriteTokens", "x_CacheWrite1hTokens",
}

// WriteFocus writes charges as FOCUS 1.2 has them: a line with the names of columns and one for each charge,
// those of the first page, then those that next gives until there are no more. It holds one page at a time.
// What has no value is empty.
func WriteFocus(
	w io.Writer, account usage.Account, page []usage.Charge, more bool, next func(usage.Charge) ([]usage.Charge, bool, error),
) error {
	err := write(w, [][]string{focusColumns})
	for err == nil {
		lines := make([][]string, 0, len(page))
		for _, c := range page {
			lines = append(lines, focusLine(account, c))
		}
		if err = write(w, lines); err != nil || !more {
			return err
		}
		page, more, err = next(page[len(page)-1])
	}
	return err
}

func focusLine(account usage.Account, c usage.Charge) []string {
	hour, basis := c.Hour.UTC(), bases[c.Basis()]
	month := time.Date(hour.Year(), hour.Month(), 1, 0, 0, 0, 0, time.UTC)
	charged, quantity, provider := c.Charged.Fixed(), number(c.Tokens()), text(c.Provider)
	product, class := c.Product, ""
	if product == "" { // it is gone
		product = c.ProductID.String()
	}
	if c.Corrects {
		class = "Correction"
	}
	line := []string{
		charged, account.ID.String(), text(account.Name), "USD", focusTime(month.AddDate(0, 1, 0)), focusTime(month),
		"Usage", class, "Tokens of " + c.Model + basis.description, "Usage-Based",
		focusTime(hour.Add(time.Hour)), focusTime(hour), quantity, "Tokens",
		charged, charged, provider, (c.Charged + c.Imputed).Fixed(), quantity, "Tokens", provider, provider,
		"AI and Machine Learning", "Model inference", "Generative AI", text(c.Provider + "/" + c.Model), "Tokens",
		c.ProductID.String(), text(product), focusTags(c),
		basis.name, c.Imputed.Fixed(), c.Reported.Fixed(), number(c.Unpriced), number(c.UnpricedTokens),
		number(c.Entries), number(c.Epoch), text(c.Model),
	}
	return append(line, tokens(c.Usage)...)
}

// bases say in words what costs stand on.
var bases = map[usage.Basis]struct{ name, description string }{
	usage.ByPrice:    {"Price", ", at the price of the workspace"},
	usage.ByAgent:    {"Reported", ", at the cost that the agent reported"},
	usage.ByFlatRate: {"FlatRate", ", within a flat rate"},
	usage.ByNothing:  {"Unknown", ", of which no cost is known"},
	usage.ByMany:     {"Mixed", ", of several of a price, reported costs, a flat rate and no known cost"},
}

// focusTags returns what a charge belongs to, as a JSON object. The prefix tells that we, and not people, gave
// the tags.
func focusTags(c usage.Charge) string {
	tags := map[string]string{}
	for name, value := range map[string]string{"agent": c.Agent, "factory": c.Factory, "job": c.JobKey, "job_id": c.JobID.String(),
		"phase": c.Phase, "product": c.Product, "repo": c.Repo} {
		if value != "" {
			tags["fleetboard:"+name] = value
		}
	}
	raw, _ := json.Marshal(tags) // texts alone
	return string(raw)
}

// focusTime writes an instant as FOCUS does: of whole seconds, in UTC.
func focusTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }
