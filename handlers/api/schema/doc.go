// Package schema checks what a request holds against the description of its call: its
// parameters, and its body, which it reads strictly and gives back in canonical form. All
// that is wrong is reported at once, by the names of the fields.
package schema
