package handlertest

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/internal/accounts/idptest"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/views/links"
)

// ProviderSecret is what the provider knows this server by.
const ProviderSecret = "a-secret-of-the-provider"

// AdaThere is the owner as the provider knows her.
var AdaThere = idptest.Person{Subject: "sub-ada", Username: "ada", Password: "verysecure", First: "Ada", Last: "There", Email: OwnerEmail}

// GraceThere is somebody whom only the provider knows.
var GraceThere = idptest.Person{Subject: "sub-grace", Username: "grace", Password: "verysecure", First: "Grace",
	Last: "Hopper", Email: "grace@navy.example"}

// EveThere is somebody at the provider with another one's name.
var EveThere = idptest.Person{Subject: "sub-eve", Username: "eve", Password: "verysecure", First: "Eve", Last: "There",
	Email: "eve@example.org"}

// WithProvider gives the pages a real provider on this machine, called Acme.
func WithProvider(t *testing.T) func(*handlers.Deps) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	issuer := "http://" + server.Listener.Addr().String()
	client := idptest.Client{ID: t.Name(), Secret: ProviderSecret, RedirectURI: "http://example.com" + links.IdentityCallback}
	server.Config.Handler = idptest.Handler(issuer, client, AdaThere, GraceThere, EveThere)
	server.Start()
	t.Cleanup(server.Close)
	return func(d *handlers.Deps) {
		d.Provider = oidc.NewProvider(oidc.Config{
			Issuer: issuer, ClientID: client.ID, ClientSecret: client.Secret, RedirectURL: client.RedirectURI, Name: "Acme"})
	}
}

// Back returns the callback that the provider sends the browser to.
func Back(t *testing.T, page string, who idptest.Person) *url.URL {
	t.Helper()
	to, err := idptest.LogIn(t.Context(), page, who.Username, who.Password)
	if err != nil {
		t.Fatal(err)
	}
	return to
}
