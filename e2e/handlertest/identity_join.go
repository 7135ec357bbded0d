package handlertest

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/idptest"
	"github.com/fleetboard/fleetboard/views/links"
)

// JoinVia accepts an invitation with the provider's word, as a person does.
func (s *Site) JoinVia(t *testing.T, token string, who idptest.Person) {
	t.Helper()
	WantRedirect(t, s.Via(t, links.IdentityJoin(token), who), links.IdentityAccept)
	WantRedirect(t, s.Post(links.IdentityAccept, url.Values{"join": {s.JoinKey(t)}}), links.Board)
}

// JoinKey is that of the question that waits in this browser.
func (s *Site) JoinKey(t *testing.T) string {
	t.Helper()
	res := s.Get(links.IdentityAccept)
	WantStatus(t, res, http.StatusOK)
	return Document(t, res).Find("#join input[name=join]").AttrOr("value", "")
}

// People counts what joining makes: accounts, identities, members, used links, events.
func (s *Site) People(t *testing.T) [5]int {
	t.Helper()
	return dbfactory.PeopleCounts(t, s.DB)
}
