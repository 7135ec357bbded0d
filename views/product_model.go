package views

import "fleetboard/views/ui"

// ProductsPage lists what the workspace's products allow.
type ProductsPage struct {
	Shell    Shell
	Products Products
}

// Products is the list.
type Products struct {
	List []Product
	// CanManage shows what changes a product.
	CanManage bool
	// Only is set where nobody has made a product yet.
	Only bool
}

// Product is one row of the list: its settings in words.
type Product struct {
	Name      string
	BoardURL  string // its jobs
	Repos     []string
	Review    string // "A person approves"
	PerRepo   string // "One at a time"
	Limit     string // "2 of 5 in review"
	LimitTone ui.Tone
	Paused    bool
	EditURL   string
	PauseURL  string // "" for one that is paused
	ResumeURL string // "" for one that is not
}

// ProductPage is the form of one product.
type ProductPage struct {
	Shell Shell
	Form  ProductForm
}

// ProductForm is the form with what was typed, so that a refused one comes back
// as it was.
type ProductForm struct {
	New            bool
	Name           string // typed where New, else the product's
	SaveURL        string
	BoardURL       string
	Repos          string // one a line
	ReviewRequired bool
	OneJobPerRepo  bool
	ReviewLimit    string
	InReview       string // "2 jobs are in review now.", "" for a new one
	Paused         bool
	PauseURL       string // of an existing one that is not paused
	ResumeURL      string // of one that is
	Delete         *Action
	Stays          string // why it cannot be deleted, "" where it may be

	// Errors by field name: name, repos, review_limit.
	Errors map[string]string
	// Error is about the form as a whole: what happened, what is kept.
	Error string
}
