// Package modelname knows that one model has many names: clouds put regions and vendors
// before it and versions after it, gateways add variants, programs have aliases. It is
// pure: the tables in tables.go say how a name becomes that of the model's maker.
//
// A name that the tables do not know stays unknown. What is priced otherwise than the
// model that it resembles (fine-tunes, free variants, snapshots with prices of their own)
// is not to be taken for it, so whatever is left over after all rules makes a name
// unknown, and nothing is cut off at a guess.
package modelname
