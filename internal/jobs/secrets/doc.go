// Package secrets keeps the secret inputs of jobs: it seals them, opens them for the
// holder of a lease, takes them out of what agents write, and moves them to a new key.
//
// A workspace's values are sealed with the newest generation of its keys. A rotation
// makes another generation; RotateSecrets seals the values of the older ones again and
// retires each that has none left.
package secrets
