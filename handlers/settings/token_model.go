package settings

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// tokenLives are the choices of how long a token lives, in days; 0 is for ever.
var tokenLives = []struct {
	days  int
	label string
}{{7, "7 days"}, {30, "30 days"}, {90, "90 days"}, {365, "1 year"}, {0, "Never"}}

// defaultLife is the one that is chosen unless a person chooses another.
const defaultLife = 90

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

// listLimits are the things that a token is limited to.
func listLimits(s tenancy.Scope) []string {
	list := slices.Clone(s.Products)
	if s.Factory != "" {
		list = append(list, "factory "+s.Factory)
	}
	return append(list, s.Capabilities...)
}

// listRoles are the roles that its agents may have beside worker.
func listRoles(t tokens.Token) []string {
	return slices.DeleteFunc(slices.Clone(t.Roles), func(r string) bool { return r == tenancy.AgentWorker })
}

// tokenForm is the form of a new token as it was typed.
type tokenForm struct {
	kind                     tenancy.Kind
	key, name, life, factory string
	products                 []string
	capabilities             string
	roles                    string
	maySubmit                bool
}

// blankToken is the form with its defaults.
func blankToken(kind tenancy.Kind, name string) tokenForm {
	return tokenForm{kind: kind, key: ids.New().String(), name: name, roles: tenancy.AgentWorker, life: strconv.Itoa(defaultLife)}
}

// parseTokenForm reads what was sent; nothing is judged yet.
func parseTokenForm(in url.Values) tokenForm {
	line := func(name string) string { return strings.TrimSpace(in.Get(name)) }
	return tokenForm{kind: tenancy.Kind(line("kind")), key: line("form_key"), name: line("name"), life: line("life"),
		factory: line("factory"), products: web.Distinct(in["products"]), capabilities: in.Get("capabilities"),
		roles:     in.Get("roles"),
		maySubmit: in.Get("may_submit") != ""}
}

// token is what the form asks for, or what is wrong with its choices by field.
// The domain judges the rest.
func (f tokenForm) token(now time.Time) (tokens.NewToken, map[string]string) {
	in := tokens.NewToken{Kind: f.kind, Name: f.name, Products: f.products,
		Capabilities: web.Distinct(web.SplitKeys([]string{f.capabilities})), Factory: f.factory,
		Roles: web.Distinct(web.SplitKeys([]string{f.roles})), MaySubmit: f.maySubmit, FormKey: f.key}
	for _, life := range tokenLives {
		if f.life != strconv.Itoa(life.days) {
			continue
		}
		if life.days > 0 {
			end := now.AddDate(0, 0, life.days)
			in.ExpiresAt = &end
		}
		return in, nil
	}
	return in, map[string]string{"life": "Choose one of these."}
}

// tokenFields turns the fields of a fault into those of the form; what belongs to
// none of them is the second result.
func tokenFields(err error) (byField map[string]string, rest string) {
	byField = map[string]string{}
	for field, text := range fault.From(err).Fields {
		name, _, _ := strings.Cut(field, "[")
		switch name {
		case "name", "products", "capabilities", "factory":
			byField[name] = text
		case "expires_at":
			byField["life"] = text
		default:
			rest = text
		}
	}
	return byField, rest
}

// tokenFormData is what the form is made of.
type tokenFormData struct {
	form     tokenForm
	products []jobs.Product
	wrong    map[string]string
	rest     string // what is wrong beside the fields
	proof    *ui.Proof
}

func (s tokenFormData) model() view.TokenForm {
	f := s.form
	m := view.TokenForm{
		Kind:      string(f.kind),
		Key:       f.key,
		Name:      f.name,
		Caps:      f.capabilities,
		Factory:   f.factory,
		Roles:     f.roles,
		MaySubmit: f.maySubmit,
		Errors:    s.wrong,
		Error:     s.rest,
		Proof:     s.proof,
		Enrolment: f.kind == tenancy.KindEnrolment,
	}
	if len(s.wrong) > 0 && s.rest == "" {
		m.Error = "No token was made. " + web.Plural(len(s.wrong), "field needs", "fields need") + " another value; your text is kept."
	}
	for _, life := range tokenLives {
		value := strconv.Itoa(life.days)
		m.Life = append(m.Life, ui.Option{Value: value, Label: life.label, Selected: value == f.life})
	}
	for _, p := range s.products {
		m.Products = append(m.Products, ui.Option{Value: p.Name, Label: p.Name, Selected: slices.Contains(f.products, p.Name)})
	}
	return m
}
