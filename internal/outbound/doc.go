// Package outbound has what every request to an address of a stranger needs: a guard that keeps
// connections in the public network, and the signature by which a receiver knows who sends.
package outbound
