package settings

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// tokensModel splits the list into the person's own and the workspace's.
func tokensModel(list []tokens.Token, canEnrol bool) view.TokensPage {
	m := view.TokensPage{CanEnrol: canEnrol}
	for _, t := range list {
		if t.Kind == tenancy.KindEnrolment {
			m.Enrolment = append(m.Enrolment, tokenModel(t))
		} else {
			m.Own = append(m.Own, tokenModel(t))
		}
	}
	return m
}

func tokenModel(t tokens.Token) view.AccessToken {
	m := view.AccessToken{
		ID:        t.ID.String(),
		Name:      t.Name,
		Hint:      t.Hint,
		Limits:    listLimits(t.Scope),
		By:        t.CreatedBy,
		Made:      ui.Day(t.CreatedAt),
		MaySubmit: t.MaySubmit,
		Roles:     strings.Join(listRoles(t), ", "),
		Live:      t.State == tokens.Live,
		Agents:    t.Agents,
		Enrolment: t.Kind == tenancy.KindEnrolment,
	}
	if t.LastUsedAt != nil {
		m.Used = ui.Ago(*t.LastUsedAt, t.Now)
	}
	if t.ExpiresAt != nil {
		m.Expires = ui.In(*t.ExpiresAt, t.Now)
	}
	switch t.State {
	case tokens.Revoked:
		m.State, m.Expires = "Revoked", ui.Ago(t.EndedAt, t.Now)
	case tokens.Expired:
		m.State, m.Expires = "Expired", ui.Ago(t.EndedAt, t.Now)
	case tokens.Live:
		m.State, m.RevokeURL = "Live", links.TokenRevoke(m.ID)
	}
	return m
}

// listLimits returns the things that a token is limited to.
func listLimits(s tenancy.Scope) []string {
	list := slices.Clone(s.Products)
	if s.Factory != "" {
		list = append(list, "factory "+s.Factory)
	}
	return append(list, s.Capabilities...)
}

// listRoles returns the roles that its agents may have beside worker.
func listRoles(t tokens.Token) []string {
	return slices.DeleteFunc(slices.Clone(t.Roles), func(r string) bool { return r == tenancy.AgentWorker })
}

// defaultLife is how many days a token lives unless a person chooses another time.
const defaultLife = "90"

// tokenFields are the form of a new token.
var tokenFields = form.Table[tokens.NewToken]{
	form.Line("name", "Name", tokens.MaxName, func(t *tokens.NewToken) *string { return &t.Name }),
	form.WriteOnly("life", "Ends after", 0, setLife).
		Options("7", "7 days", "30", "30 days", defaultLife, "90 days", "365", "1 year", "0", "Never").Also("expires_at"),
	form.List("products", "Products", web.Distinct, nil, func(t *tokens.NewToken, names []string) { t.Products = names }).
		Note("none chosen is all"),
	keys("capabilities", "Capabilities", 4000, func(t *tokens.NewToken) *[]string { return &t.Capabilities }).Note("empty is all"),
	form.Line("factory", "Factory", jobs.MaxName, func(t *tokens.NewToken) *string { return &t.Factory }).Note("empty is any"),
	keys("roles", "Roles", 1200, func(t *tokens.NewToken) *[]string { return &t.Roles }),
	form.Box("may_submit", "Its agents may create jobs", func(t *tokens.NewToken) *bool { return &t.MaySubmit }),
	form.Line("kind", "", 0, func(t *tokens.NewToken) *tenancy.Kind { return &t.Kind }),
	form.Line("form_key", "", 0, func(t *tokens.NewToken) *string { return &t.FormKey }),
}

// keys returns a field of names that are written as one text, with commas or blanks between.
func keys(name, label string, most int, at func(*tokens.NewToken) *[]string) form.Field[tokens.NewToken] {
	return form.WriteOnly(name, label, most, func(t *tokens.NewToken, text string) string {
		*at(t) = web.Distinct(web.SplitKeys([]string{text}))
		return ""
	})
}

// setLife takes the days that a token lives; 0 is for ever.
func setLife(t *tokens.NewToken, text string) string {
	days, err := strconv.Atoi(text)
	if err != nil || !slices.Contains([]int{0, 7, 30, 90, 365}, days) {
		return "Choose one of these."
	}
	if days > 0 {
		end := time.Now().AddDate(0, 0, days)
		t.ExpiresAt = &end
	}
	return ""
}

// blankToken returns the form with its defaults.
func blankToken(kind tenancy.Kind, name string) ui.Form {
	return tokenFields.Read(url.Values{"kind": {string(kind)}, "form_key": {ids.New().String()}, "name": {name},
		"roles": {tenancy.AgentWorker}, "life": {defaultLife}})
}

// tokenFormData is what the form is made of.
type tokenFormData struct {
	form     ui.Form
	products []jobs.Product
	proof    *ui.Proof
}

func (s tokenFormData) kind() tenancy.Kind { return tenancy.Kind(s.form.Text("kind")) }

func (s tokenFormData) model() view.TokenForm {
	m := view.TokenForm{Form: s.form, Proof: s.proof, Enrolment: s.kind() == tenancy.KindEnrolment}
	if n := len(m.Errors); n > 0 && m.Error == "" {
		m.Error = "No token was made. " + web.Plural(n, "field needs", "fields need") + " another value; your text is kept."
	}
	chosen := s.form.Typed["products"]
	for _, p := range s.products {
		m.Products = append(m.Products, ui.Option{Value: p.Name, Label: p.Name, Selected: slices.Contains(chosen, p.Name)})
	}
	return m
}
