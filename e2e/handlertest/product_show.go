package handlertest

import "github.com/fleetboard/fleetboard/internal/jobs"

// Product makes one.
func (w *Workspace) Product(name string, in jobs.ProductSettings) {
	w.t.Helper()
	if _, _, err := w.Jobs.PutProduct(w.t.Context(), w.Owner, name, in); err != nil {
		w.t.Fatal(err)
	}
}

// Settings reads a product's settings again.
func (w *Workspace) Settings(name string) jobs.Product {
	w.t.Helper()
	p, err := w.Jobs.Product(w.t.Context(), w.Owner, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}
