package handlertest

import "github.com/fleetboard/fleetboard/internal/jobs"

// Product makes one.
func (d *Desk) Product(name string, in jobs.ProductSettings) {
	d.t.Helper()
	if _, _, err := d.Jobs.PutProduct(d.t.Context(), d.Owner, name, in); err != nil {
		d.t.Fatal(err)
	}
}

// Settings reads a product's settings again.
func (d *Desk) Settings(name string) jobs.Product {
	d.t.Helper()
	p, err := d.Jobs.Product(d.t.Context(), d.Owner, name)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}
