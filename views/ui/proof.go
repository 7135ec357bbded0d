package ui

// Proof is what a form requires before a change that outlasts the session; nil where
// the person has proven lately who he is.
type Proof struct {
	Password bool
	Code     bool // a code of the second factor is as good
	// Provider and ProviderURL lead to a log in with the provider, for an account
	// without a password.
	Provider, ProviderURL string
	Error                 string
}

func (p Proof) label() string {
	if p.Code {
		return "Your password, or a code"
	}
	return "Your password"
}
