// Package throttle counts failed attempts at the secrets of accounts and makes the
// next ones wait. It counts under an HMAC, so that its table names nobody. A known
// device is counted by itself, so that strangers keep nobody out.
package throttle
