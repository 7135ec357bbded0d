package seal

// Statement is a text that lies outside the database, and the server's signature under it.
type Statement struct {
	Text      []byte `json:"text"`
	Signer    []byte `json:"signer"`
	Signature []byte `json:"signature"`
}

// State signs a text of a kind.
func (k *Keys) State(kind string, text []byte) Statement {
	s := k.sign(statementSum(kind, text))
	return Statement{Text: text, Signer: s.signer, Signature: s.bytes}
}

// Stated reports whether one of the server's keys signed the statement as one of that kind.
func (k *Keys) Stated(kind string, s Statement) bool {
	return k.trusts(statementSum(kind, s.Text), signature{s.Signer, s.Signature})
}

func statementSum(kind string, text []byte) []byte {
	d := newDigester("statement v1")
	d.text("kind", kind)
	d.bytes("text", text)
	return d.sum()
}
