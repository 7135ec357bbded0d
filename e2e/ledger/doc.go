// Package ledger drives the money of a workspace through random lives: budgets are made,
// changed, raised, transferred and removed while leases reserve and spend, days begin, and
// agents report late and more. After each move a small model says how every period stands.
package ledger
