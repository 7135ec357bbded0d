// Command nats measures NATS JetStream, embedded, for the bench: a module of its own,
// because the product does not depend on it.
package main
