// Package setup makes what a first start needs: the first workspace, its owner and
// the token files in the data directory. The owner's set-up link gives the account
// its e-mail and password:
//
//	made -> used      by SetUp, once
//	made -> replaced  by a newer link of the same account
//	made -> expired   after a week
package setup
