// Package people holds a person's own account: name, e-mail, profile and the rules
// for them. A person changes the own account and nobody else's.
package people
