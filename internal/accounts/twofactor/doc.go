// Package twofactor is the second factor of a password: codes of an authenticator
// app and recovery codes, each good once. A person turns the own factor on and off
// with the password:
//
//	off -> pending   by Begin, for a quarter of an hour
//	pending -> on    by Confirm with a first code
//	on -> off        by Drop
package twofactor
