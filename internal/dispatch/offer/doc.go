// Package offer is the offers of mode targeted: a ready job is offered to one factory at a time, to
// those that suit it best in their order, and after a bounded time it is open to all.
package offer
