// Package forecast says whether the money of a budget lasts, and from when on jobs of
// low priority wait so that it does. It is pure: the hourly sums of the budget come in.
//
// What was spent in the last seven days is cut into days, counted back from now. Each
// of a fixed number of futures is made of such days, drawn at random with the same seed
// each time: first how likely each day is (the Bayesian bootstrap, so that few days
// leave much open), then day after day. The median and the 90th percentile of the
// instants at which the futures run out are the answer. A quiet day is one of seven and
// does not make the money last for ever.
//
// With less than three days it draws hours instead and looks no further ahead than its
// history goes back; with less than an hour it says that there is too little data. The
// history of a young budget goes back to its first entry.
//
// Amounts are whole numbers without a unit of their own: tokens work as dollars do.
package forecast
