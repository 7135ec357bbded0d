package links

import (
	"fmt"
	"net/url"
)

// The pages of products.
const (
	Products   = "/settings/products"
	NewProduct = "/settings/products/new"
)

// ProductPreview returns that page with what the policy would have approved.
func ProductPreview(name string) string { return Product(name) + "?preview=1#auto-preview" }

// Product returns the page of a product's settings; a form posts them to it.
func Product(name string) string {
	address := Products + "/" + url.PathEscape(name)
	if address == NewProduct {
		// A product may be called so; written differently, it is not the form
		// for another one.
		return Products + fmt.Sprintf("/%%%02x%s", name[0], name[1:])
	}
	return address
}

// ProductAction takes nothing. The action is a verb: pause, resume, delete.
func ProductAction(name, action string) string {
	return Product(name) + "/" + url.PathEscape(action)
}
