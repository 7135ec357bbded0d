package settings

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// keptTokenForm is a token's form whose person went to prove who he is.
const keptTokenForm = "token_form"

// tokenProof requires a fresh proof before a token with a person's rights is made:
// it outlasts the session. Where the provider has to confirm it, the form waits in
// the session. asked reports that the response is written.
func (p *tokenPages) tokenProof(c echo.Context, who tenancy.Principal, sheet tokenFormData, in url.Values) (asked bool, err error) {
	if sheet.kind() != tenancy.KindPerson {
		return false, nil
	}
	sheet.proof, err = p.TakeProof(c, who, in, links.NewToken(string(tenancy.KindPerson)))
	if err != nil || sheet.proof == nil {
		return false, err
	}
	if sheet.proof.ProviderURL != "" {
		in.Del(web.ProofField)
		if err := p.KeepInSession(c, keptTokenForm, in.Encode()); err != nil {
			return true, err
		}
	}
	return true, p.tokenFormPage(c, who, http.StatusUnprocessableEntity, sheet)
}
