package ui

// OptionLabel names an option that went offline with its state.
func OptionLabel(o Option) string {
	if o.Offline {
		return Clean(o.Label) + ", not live now"
	}
	return Clean(o.Label)
}
