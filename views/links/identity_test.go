package links

import "testing"

func TestIdentityLinks(t *testing.T) {
	for got, want := range map[string]string{
		IdentityLogin(""):              "/login/oidc",
		IdentityLogin(Board):           "/login/oidc",
		IdentityLogin("/agents?a=b&c"): "/login/oidc?next=%2Fagents%3Fa%3Db%26c",
		IdentityJoin("a&b=/#"):         "/login/oidc?invitation=a%26b%3D%2F%23",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
