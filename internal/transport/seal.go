package transport

import (
	"crypto/cipher"
	"crypto/rand"
)

// sealed encrypts a message for one subject, so that whoever else uses the broker learns no names and
// cannot wake anybody.
func sealed(seal cipher.AEAD, subject, message string) []byte {
	nonce := make([]byte, seal.NonceSize(), seal.NonceSize()+len(message)+seal.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return seal.Seal(nonce, nonce, []byte(message), []byte(subject))
}

// open is the reverse of sealed; false for what nobody with the key has sealed.
func open(seal cipher.AEAD, subject string, data []byte) (message string, ok bool) {
	if len(data) < seal.NonceSize() {
		return "", false
	}
	text, err := seal.Open(nil, data[:seal.NonceSize()], data[seal.NonceSize():], []byte(subject))
	return string(text), err == nil
}
