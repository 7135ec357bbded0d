package links

import "net/url"

// The actions of the own account, and the second step of the log in.
const (
	LoginCode     = "/login/code"
	Password      = Account + "/password"
	SecondFactor  = Account + "/second-factor"
	ConfirmFactor = SecondFactor + "/confirm"
	DropFactor    = SecondFactor + "/off"
	RecoveryCodes = Account + "/recovery-codes"
	EndOthers     = Account + "/sessions/end-others"
	EndAll        = Account + "/sessions/end-all"
)

// EndSession ends one session by its id.
func EndSession(id string) string {
	return Account + "/sessions/" + url.PathEscape(id) + "/end"
}

// OwnLogIn says that a new log in was one's own.
func OwnLogIn(id string) string { return Account + "/logins/" + url.PathEscape(id) + "/mine" }

// DisownLogIn says that a new log in was somebody else's.
func DisownLogIn(id string) string { return Account + "/logins/" + url.PathEscape(id) + "/not-mine" }

// LoginCodeNext takes the second factor and goes on to a path of ours.
func LoginCodeNext(next string) string {
	if next == "" || next == Board {
		return LoginCode
	}
	return LoginCode + "?next=" + url.QueryEscape(next)
}
