package prices

import (
	"math/bits"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend/modelname"
)

// MaxRate is the highest rate: a thousand dollars for a million tokens. With it the cost of
// the largest usage entry is a number of 63 bits.
const MaxRate = 1_000_000_000

// WholePrice is the BatchPermille of a price that is the same in batches.
const WholePrice = 1000

// Tokens are numbers of tokens by meter, or rates by meter. The meters are disjoint: input
// is without what was read from or written to a cache.
type Tokens struct {
	Input        int64
	CacheRead    int64
	CacheWrite   int64 // to a cache of five minutes
	CacheWrite1h int64
	Output       int64
}

// Sum returns the number of tokens of all meters.
func (t Tokens) Sum() int64 {
	return t.Input + t.CacheRead + t.CacheWrite + t.CacheWrite1h + t.Output
}

// Price is what the tokens of a model cost from an instant on.
type Price struct {
	ID       int64
	Provider string
	Model    string // exact, or with one *; in the built-in list as its maker calls it
	From     time.Time
	Rates    Tokens // pico-dollars a token, 0..MaxRate
	// BatchPermille is what tokens cost that are used in a provider's batches, in thousandths
	// of their price, 0..WholePrice.
	BatchPermille int64
	// FlatRate is a plan that costs the same whatever is used: what the tokens would have
	// cost is imputed and not charged.
	FlatRate bool
	Source   string // where it was read
}

// Cost returns what tokens cost in nano-dollars, used in a batch or not, rounded once, half up.
func (p Price) Cost(t Tokens, batch bool) int64 {
	picos := t.Input*p.Rates.Input + t.CacheRead*p.Rates.CacheRead + t.CacheWrite*p.Rates.CacheWrite +
		t.CacheWrite1h*p.Rates.CacheWrite1h + t.Output*p.Rates.Output
	if !batch {
		return picos/1000 + picos%1000/500
	}
	high, low := bits.Mul64(uint64(picos), uint64(p.BatchPermille)) //nolint:gosec // neither is below 0
	const unit = 1000 * WholePrice
	nanos, rest := bits.Div64(high, low, unit)
	return int64(nanos + rest*2/unit) //nolint:gosec // at most picos / 1000
}

// lower returns a name for comparisons that ignore case and blanks around it.
func lower(model string) string { return strings.ToLower(strings.TrimSpace(model)) }

// matches reports whether the price is for a model of exactly that provider.
func (p Price) matches(provider, model string) bool {
	return p.Provider == provider && matchesPattern(p.Model, model)
}

// matchesPattern reports whether a name matches a pattern, which may have one * for any text.
func matchesPattern(pattern, name string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// preferredTo reports whether p is taken rather than another price that matches as well: a
// workspace's own comes first, then the longest name, then the newest.
func (p Price) preferredTo(other Price) bool {
	own, otherOwn := p.ID > 0, other.ID > 0
	switch {
	case own != otherOwn:
		return own
	case len(p.Model) != len(other.Model):
		return len(p.Model) > len(other.Model)
	case p.Model != other.Model:
		return p.Model > other.Model
	}
	return p.From.After(other.From)
}

// List is prices, in any order.
type List []Price

// Find returns the price of a model at an instant; false where none is known. A workspace's own
// price is looked for by the model's name as reported first, then by its provider's name and the
// model's or its maker's name, whatever the case. The built-in list goes by the maker's name
// alone.
func (l List) Find(provider, model string, at time.Time) (Price, bool) {
	return l.find(newModelNames(provider, model), at)
}

// modelNames are the names of a model by which prices are looked for.
type modelNames struct {
	provider, model           string // as they were reported
	providerLower, modelLower string
	makerKnown                bool
	maker, makerModel         string // the maker and its name of the model
}

func newModelNames(provider, model string) modelNames {
	n := modelNames{provider: provider, model: model, providerLower: modelname.Provider(provider), modelLower: lower(model)}
	n.maker, n.makerModel, n.makerKnown = modelname.Canonical(provider, model)
	return n
}

func (l List) find(n modelNames, at time.Time) (Price, bool) {
	if own, found := l.best(at, func(p Price) bool { return p.ID > 0 && p.matches(n.provider, n.model) }); found {
		return own, true
	}
	return l.best(at, func(p Price) bool {
		if p.ID < 0 {
			return n.makerKnown && p.matches(n.maker, n.makerModel)
		}
		pattern := lower(p.Model)
		return modelname.Provider(p.Provider) == n.providerLower &&
			(matchesPattern(pattern, n.modelLower) || n.makerKnown && matchesPattern(pattern, n.makerModel))
	})
}

// best returns the preferred one of the prices that hold at an instant and match.
func (l List) best(at time.Time, match func(Price) bool) (best Price, found bool) {
	for _, p := range l {
		if !p.From.After(at) && match(p) && (!found || p.preferredTo(best)) {
			best, found = p, true
		}
	}
	return best, found
}

// ByID returns the price with that id; false where there is none.
func (l List) ByID(id int64) (Price, bool) {
	for _, p := range l {
		if p.ID == id {
			return p, true
		}
	}
	return Price{}, false
}
