package views

// Login is the log-in page.
type Login struct {
	Theme Theme
	Email string
	Next  string // a path of ours
	Error string // one sentence that does not say which field was wrong
	// Identity is the other way in, nil where there is none.
	Identity *IdentityLogin
}

// LoginCode is the second step of the log in.
type LoginCode struct {
	Theme Theme
	Next  string // a path of ours
	Error string
}

// Setup is the page of a set-up link: the owner's name, e-mail and password.
type Setup struct {
	Theme     Theme
	URL       string // links.Setup(token), where the form goes
	Workspace string
	Name      string
	Email     string
	Errors    map[string]string // by field: workspace, name, email, password
	Error     string
}

// ErrorPage is what a refused request shows.
type ErrorPage struct {
	Shell     *Shell // nil when nobody is signed in
	Theme     Theme  // used when Shell is nil
	Code      int    // 404, 403, 409, 500
	Title     string // "" takes the sentence of the code
	Message   string // "" takes the sentence of the code
	RequestID string
	BackURL   string // "" is the board
	BackLabel string // "" is "Back to the board"
}
