// Package devices knows a browser again on which an account has logged in, by a
// signed word that the browser keeps. A new epoch of the account's sessions makes
// it unknown.
package devices
