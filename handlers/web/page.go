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
	"github.com/fleetboard/fleetboard/internal/natural"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Page returns the shell of a page, with the stored toast and the numbers of jobs that wait for
// a person.
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
	c echo.Context, who tenancy.Principal, data screens.Frame, section layout.Section, title string,
) (layout.Shell, error) {
	list, err := s.Accounts.Workspaces.Of(c.Request().Context(), who.Account)
	if err != nil {
		return layout.Shell{}, err
	}
	if _, ok := FindWorkspace(list, who.Workspace); !ok {
		return layout.Shell{}, notSignedIn()
	}
	shell := frame{who: who, workspaces: list, snap: data.Fleet, theme: ReadTheme(c), path: c.Request().URL.RequestURI()}.model()
	shell.Section = section
	shell.Title = title
	shell.Toasts = s.takeFlash(c)
	shell.Health = s.Health(c.Request().Context())
	shell.Needs = CountText(data.Needs.All())
	shell.Review = CountText(data.Needs.Reviews)
	shell.Money = MoneyNote(data.Needs.Budgets)
	OneNote(c, section, shell.Money)
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
	i := slices.IndexFunc(list, func(w workspaces.Workspace) bool { return w.ID == id })
	if i < 0 {
		return workspaces.Workspace{}, false
	}
	return list[i], true
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
	shell.Path = links.Board // the theme's form leads back to it
	return &shell
}

// BackTo returns the page of this site from which a form was sent, or the fallback.
func BackTo(c echo.Context, fallback string) string {
	u, err := url.Parse(c.Request().Referer())
	if err != nil || u.Host == "" || u.Host != c.Request().Host {
		return fallback
	}
	return SafeNext(u.RequestURI())
}

// ServerURL returns the server's address as the reader reached it.
func (s *Site) ServerURL(c echo.Context) string {
	if s.Secure {
		return "https://" + c.Request().Host
	}
	return "http://" + c.Request().Host
}

// FirstRun returns how to connect a factory, and the first one that is connected.
func (s *Site) FirstRun(ctx context.Context, r Request) ui.FirstRun {
	return FirstRunModel(r.Server, s.EnrolmentFile(ctx, r.Who), r.Who.Can(tenancy.WriteJobs), r.Fleet)
}

// EnrolmentFile returns the file with an enrolment token of the caller's workspace: that of the
// first workspace, which the first start wrote; "" for any other workspace.
func (s *Site) EnrolmentFile(ctx context.Context, who tenancy.Principal) string {
	list, err := s.Accounts.Workspaces.Of(ctx, who.Account)
	if w, ok := FindWorkspace(list, who.Workspace); err == nil && ok && w.First() {
		return s.EnrolmentTokenFile
	}
	return ""
}

// FirstRunModel returns how to connect a factory to server.
func FirstRunModel(server, tokenFile string, canWrite bool, snap fleet.Snapshot) ui.FirstRun {
	m := ui.FirstRun{Server: server, TokenFile: tokenFile, CanWrite: canWrite}
	for _, f := range snap.Factories {
		for _, a := range f.Agents {
			if m.Factory == "" && a.TakesJobs() {
				m.Factory = f.Name
				m.Agent = a.Name
				m.Offers = firstOffers(f, a)
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
	natural.Sort(capabilities)
	list := []ui.FirstRunOffer{
		{Label: "Repos", Text: listFirst(repos)}, {Label: "Engines", Text: listFirst(f.Engines)},
		{Label: "Capabilities", Text: listFirst(slices.Compact(capabilities))},
	}
	list = slices.DeleteFunc(list, func(o ui.FirstRunOffer) bool { return o.Text == "" })
	return append(list, ui.FirstRunOffer{Label: "Seats", Text: strconv.Itoa(f.Seats)})
}

// listFirst returns the first names of a list, and how many more there are.
func listFirst(names []string) string {
	if more := len(names) - MaxListed; more > 0 {
		return strings.Join(names[:MaxListed], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(names, ", ")
}
