package transport

import (
	"crypto/rand"
)

// sealed encrypts a message, so that whoever else uses the broker learns no names and cannot wake
// anybody.
func (n *NATS) sealed(message string) []byte {
	nonce := make([]byte, n.seal.NonceSize(), n.seal.NonceSize()+len(message)+n.seal.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return n.seal.Seal(nonce, nonce, []byte(message), []byte(n.subject))
}

// open is the reverse of sealed; false for what nobody with the key has sealed.
func (n *NATS) open(data []byte) (message string, ok bool) {
	if len(data) < n.seal.NonceSize() {
		return "", false
	}
	text, err := n.seal.Open(nil, data[:n.seal.NonceSize()], data[n.seal.NonceSize():], []byte(n.subject))
	return string(text), err == nil
}
