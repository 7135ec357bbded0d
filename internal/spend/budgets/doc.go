// Package budgets knows what may be spent: on a workspace, a product, a milestone or a
// job, in each period of a calendar.
//
// A budget has periods, and each period has its sums: the limit, what is settled, what
// is reserved, and so what is free. Each change of a sum is a line of the period's
// ledger, which moves an amount from one account to another (outside, free, reserved,
// settled), so that every sum is that of its lines and nothing is ever reset. A raise
// and a transfer change the limit of one period; an edit changes that of the present
// one and of those that follow.
//
// Money is spend.Nanos; tokens and runs are ceilings of the same shape.
package budgets
