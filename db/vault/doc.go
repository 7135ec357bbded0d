// Package vault keeps values encrypted at rest. Each workspace has data keys of
// its own, wrapped by the server's key; a value is bound to the place it is
// stored in, so that one that was moved elsewhere, or changed, is refused.
package vault
