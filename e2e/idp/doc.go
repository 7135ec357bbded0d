// Command idp is an OpenID Connect provider for the browser tests. It listens on
// a port of this machine, prints its address and serves until it is killed.
//
// Its environment: IDP_CLIENT is "id secret redirect-uri", IDP_PEOPLE has a line
// "subject username password first last e-mail" for each person.
package main
