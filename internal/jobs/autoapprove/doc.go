// Package autoapprove decides whether work may be approved without a person: by limits that a product sets,
// on facts that somebody else than the author has seen. It is pure. What it cannot read, a person decides.
package autoapprove
