package web

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Page makes the shell of a Page, with the toast that waits for it and the
// numbers of jobs that wait for a person.
func (s *Site) Page(
	c echo.Context, who tenancy.Principal, snap fleet.Snapshot, section layout.Section, title string,
) (layout.Shell, error) {
	needs, err := s.Screens.Needs(c.Request().Context(), who, snap)
	if err != nil {
		return layout.Shell{}, err
	}
	return s.shell(c, who, screens.Frame{Fleet: snap, Needs: needs}, section, title)
}

func (s *Site) shell(
	c echo.Context, who tenancy.Principal, around screens.Frame, section layout.Section, title string,
) (layout.Shell, error) {
	list, err := s.Accounts.Workspaces.Of(c.Request().Context(), who.Account)
	if err != nil {
		return layout.Shell{}, err
	}
	if _, ok := FindWorkspace(list, who.Workspace); !ok {
		return layout.Shell{}, notSignedIn()
	}
	shell := frame{who: who, workspaces: list, snap: around.Fleet, theme: ReadTheme(c), path: c.Request().URL.RequestURI()}.model()
	shell.Section, shell.Title, shell.Toasts = section, title, s.takeFlash(c)
	shell.Health = s.Health(c.Request().Context())
	shell.Needs, shell.Review = CountText(around.Needs.All()), CountText(around.Needs.Reviews)
	shell.Money = MoneyNote(around.Needs.Budgets)
	return shell, nil
}

// WorkspaceName returns the name of the caller's workspace. Fault: Unauthenticated
// where the caller is no member any more.
func (s *Site) WorkspaceName(ctx context.Context, who tenancy.Principal) (string, error) {
	list, err := s.Accounts.Workspaces.Of(ctx, who.Account)
	if err != nil {
		return "", err
	}
	w, ok := FindWorkspace(list, who.Workspace)
	if !ok {
		return "", notSignedIn()
	}
	return w.Name, nil
}

// FindWorkspace finds a workspace of a list.
func FindWorkspace(list []workspaces.Workspace, id ids.ID) (workspaces.Workspace, bool) {
	at := slices.IndexFunc(list, func(w workspaces.Workspace) bool { return w.ID == id })
	if at < 0 {
		return workspaces.Workspace{}, false
	}
	return list[at], true
}

// ErrorShell returns the shell of an error page, nil where even that cannot be read.
func (s *Site) ErrorShell(c echo.Context, who tenancy.Principal) *layout.Shell {
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return nil
	}
	shell, err := s.Page(c, who, snap, "", "Not shown")
	if err != nil {
		return nil
	}
	shell.Path = links.Board // where the theme's form may come back to
	return &shell
}

// BackTo returns the page of ours that a form was sent from, or the fallback.
func BackTo(c echo.Context, fallback string) string {
	u, err := url.Parse(c.Request().Referer())
	if err != nil || u.Host == "" || u.Host != c.Request().Host {
		return fallback
	}
	return SafeNext(u.RequestURI())
}

// ServerURL returns the address that the reader reached us by.
func (s *Site) ServerURL(c echo.Context) string {
	if s.Secure {
		return "https://" + c.Request().Host
	}
	return "http://" + c.Request().Host
}

// FirstRun says how to connect a factory, and which one is there.
func (s *Site) FirstRun(ctx context.Context, r Request) ui.FirstRun {
	return FirstRunModel(r.Server, s.EnrolmentFile(ctx, r.Who), r.Who.Can(tenancy.WriteJobs), r.Fleet)
}

// EnrolmentFile is where an enrolment token of the caller's workspace lies: the
// one that the first start wrote is of the first workspace, and any other one has none: "".
func (s *Site) EnrolmentFile(ctx context.Context, who tenancy.Principal) string {
	list, err := s.Accounts.Workspaces.Of(ctx, who.Account)
	if w, ok := FindWorkspace(list, who.Workspace); err == nil && ok && w.First() {
		return s.EnrolmentTokenFile
	}
	return ""
}

// FirstRunModel says how to connect a factory to server.
func FirstRunModel(server, tokenFile string, canWrite bool, snap fleet.Snapshot) ui.FirstRun {
	m := ui.FirstRun{Server: server, TokenFile: tokenFile, CanWrite: canWrite}
	for _, f := range snap.Factories {
		for _, a := range f.Agents {
			if m.Factory == "" && a.TakesJobs() {
				m.Factory, m.Agent, m.Offers = f.Name, a.Name, firstOffers(f, a)
			}
		}
	}
	return m
}

// firstOffers returns what a factory and its first agent offer.
func firstOffers(f fleet.Factory, a fleet.Agent) []ui.FirstRunOffer {
	repos := make([]string, len(f.Repos))
	for i, r := range f.Repos {
		repos[i] = r.Name
	}
	capabilities := slices.Concat(f.Capabilities, a.Capabilities)
	slices.Sort(capabilities)
	list := []ui.FirstRunOffer{
		{Label: "Repos", Text: listed(repos)}, {Label: "Engines", Text: listed(f.Engines)},
		{Label: "Capabilities", Text: listed(slices.Compact(capabilities))},
	}
	list = slices.DeleteFunc(list, func(o ui.FirstRunOffer) bool { return o.Text == "" })
	return append(list, ui.FirstRunOffer{Label: "Seats", Text: strconv.Itoa(f.Seats)})
}

// listed returns the first of some names, and how many more there are.
func listed(names []string) string {
	if more := len(names) - MaxListed; more > 0 {
		return strings.Join(names[:MaxListed], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(names, ", ")
}
