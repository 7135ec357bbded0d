// Package prices knows what tokens cost: the built-in list of public prices and, over it,
// the rows of each workspace.
//
// A price holds for a provider and a model, exact or with one * for any text, from an
// instant until the next price of the same provider and model. Rows of the workspace win
// over the list, and of the rows that match the one with the longest name. Clouds and
// gateways name the makers' models in their own ways: package modelname knows how, and the
// list has the makers' names. No price is ever changed or removed: what was booked by a price
// keeps it, so a price has an id, above zero for a workspace's row and below zero for one of the
// list.
//
// Rates are whole millionths of a dollar for a million tokens, which are pico-dollars for
// one token. Amounts are whole billionths of a dollar.
package prices
