// Package spend knows what models were used for: how many tokens, and what that
// cost where it is known.
//
// A usage entry is one message to a model, told by the agent under the lease that
// it worked for. It is named by an id that is the message's own, because the same
// message is told many times: by retries, and by sessions that go on on another
// host and tell their history again. The first telling counts, in the whole
// workspace; the others are duplicates and change nothing. Entries are never
// changed and never taken away.
//
// Each attempt has the sums of its entries, raised by the statement that adds
// them. What an unknown model cost is unknown and not nothing: such entries are
// counted apart, so that no sum pretends to be whole.
//
// Money is a whole number of nano-dollars. It is never a float.
package spend
