package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/engines"
)

// farClock is how much the server's clock may differ before it is worth a word.
const farClock = 5 * time.Second

// finding is what the doctor found about one thing.
type finding struct {
	What string `json:"what"`
	// State is ok, warning or bad.
	State string `json:"state"`
	Said  string `json:"said"`
}

// examination gathers findings.
type examination struct {
	c     *cli
	found []finding
}

func (e *examination) ok(what, format string, args ...any)   { e.say(what, "ok", format, args...) }
func (e *examination) warn(what, format string, args ...any) { e.say(what, "warning", format, args...) }
func (e *examination) bad(what, format string, args ...any)  { e.say(what, "bad", format, args...) }

func (e *examination) say(what, state, format string, args ...any) {
	e.found = append(e.found, finding{what, state, cleanLine(fmt.Sprintf(format, args...))})
}

func doctorCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "doctor", Args: cobra.NoArgs, Annotations: calls("getVersion", "listProducts", "createJobs",
		"reclaimLeases", "createBudget"),
		Short: "Look whether this machine and its server can work together",
		Long: "Looks at the server, the clocks, the token and what it may do, the files with tokens, and the programs that\n" +
			"workers need. It changes nothing. Where something is bad it ends with code 1.",
		RunE: func(cmd *cobra.Command, _ []string) error { return examine(cmd.Context(), c) }}
}

func examine(ctx context.Context, c *cli) error {
	e := &examination{c: c}
	e.files()
	if at, err := c.target(); err != nil {
		e.bad("context", "%v", err)
	} else if e.server(ctx, at) {
		e.token(ctx, at)
	}
	e.programs(ctx)
	body, err := json.Marshal(map[string]any{"items": e.found})
	if err != nil {
		return err
	}
	if err := c.show(body, e.print); err != nil {
		return err
	}
	for _, one := range e.found {
		if one.State == "bad" {
			return fail(exitFailure, "not all is well")
		}
	}
	return nil
}

func (e *examination) print(w io.Writer) {
	marks := map[string]cell{"ok": {"ok", green}, "warning": {"warning", yellow}, "bad": {"bad", red}}
	t := e.c.table("", "WHAT", "FOUND")
	for _, one := range e.found {
		t.row(marks[one.State], one.What, one.Said)
	}
	t.print(w)
}

// files looks whether others can read tokens.
func (e *examination) files() {
	path, err := e.c.env.configPath()
	if err != nil {
		e.warn("configuration", "%v", err)
		return
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok("configuration", "there is none yet; `fleet login` makes %s", path)
	case err != nil:
		e.bad("configuration", "%v", err)
	case info.Mode().Perm()&0o077 != 0:
		e.bad("configuration", "others can read the tokens in %s: run chmod 600 on it", path)
	default:
		e.ok("configuration", "%s, for you alone", path)
	}
}

// server looks whether the server answers, speaks our version, and has the same time.
func (e *examination) server(ctx context.Context, at target) bool {
	server, err := client.New(at.server, "", api.Options{})
	if err != nil {
		e.bad("server", "%v", err)
		return false
	}
	asked := e.c.env.Now()
	got, err := server.GetVersionWithResponse(ctx)
	if err != nil {
		e.bad("server", "%v", err)
		return false
	}
	if got.JSON200 == nil {
		e.bad("server", "%s answers %s and is no Fleetboard server", at.server, got.Status())
		return false
	}
	took := e.c.env.Now().Sub(asked)
	e.ok("server", "%s, version %s, API %s, answers in %d ms", at.server, got.JSON200.Server, got.JSON200.API, took.Milliseconds())
	e.ok("this command", "version %s; the server takes %s and newer", client.Version, got.JSON200.MinClient)
	if strings.HasPrefix(at.server, "http://") && !loopback(at.server) {
		e.warn("connection", "plain http: whoever is on the way can read the token; use https")
	}
	e.clock(got.HTTPResponse.Header.Get("Date"), asked, took)
	return true
}

func (e *examination) clock(said string, asked time.Time, took time.Duration) {
	theirs, err := http.ParseTime(said)
	if err != nil {
		e.warn("clock", "the server does not say what time it has")
		return
	}
	// The header has whole seconds: the middle of its second against the middle of the call.
	apart := asked.Add(took / 2).Sub(theirs.Add(time.Second / 2))
	if apart.Abs() > farClock {
		e.warn("clock", "this machine's clock is %s from the server's; leases go by the server's, logs look out of order",
			span(apart.Abs()))
		return
	}
	e.ok("clock", "like the server's")
}

// rights are calls that change nothing: their body is refused before anything is done, and
// what may not be called at all is refused before that.
var rights = []struct {
	name string
	may  func(ctx context.Context, server *api.Client) (*http.Response, error)
}{
	{"see the board", func(ctx context.Context, server *api.Client) (*http.Response, error) {
		one := 1
		return server.ListProducts(ctx, &api.ListProductsParams{Limit: &one})
	}},
	{"decide about jobs", func(ctx context.Context, server *api.Client) (*http.Response, error) {
		return server.CreateJobsWithBody(ctx, nil, "application/json", strings.NewReader("{}"))
	}},
	{"run the fleet", func(ctx context.Context, server *api.Client) (*http.Response, error) {
		return server.ReclaimLeasesWithBody(ctx, "application/json", strings.NewReader(`{"job":0}`))
	}},
	{"manage products and budgets", func(ctx context.Context, server *api.Client) (*http.Response, error) {
		return server.CreateBudgetWithBody(ctx, "application/json", strings.NewReader("{}"))
	}},
}

// token looks what the tokens may do.
func (e *examination) token(ctx context.Context, at target) {
	if at.token == "" {
		e.bad("token", "there is none for %s: run `fleet login`, or set FLEETBOARD_TOKEN", at.server)
	} else if server, err := client.New(at.server, at.token, api.Options{}); err == nil {
		e.rights(ctx, server, at.from)
	}
	if at.enrolment == "" {
		e.ok("enrolment", "there is no enrolment token; only hosts of agents need one")
		return
	}
	e.ok("enrolment", "there is an enrolment token, so this machine can run agents")
}

func (e *examination) rights(ctx context.Context, server *api.Client, from string) {
	var may, not []string
	for _, right := range rights {
		_, err := read(right.may(ctx, server))
		p, refused := errors.AsType[*api.Error](err)
		switch {
		case err == nil || refused && (p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusBadRequest):
			may = append(may, right.name)
		case refused && p.Status == http.StatusForbidden:
			not = append(not, right.name)
		default:
			e.bad("token", "of %s: %v", from, err)
			return
		}
	}
	if len(may) == 0 {
		e.bad("token", "of %s: it may neither see nor change anything here", from)
		return
	}
	said := "of " + from + ": it may " + strings.Join(may, ", ")
	if len(not) > 0 {
		said += "; it may not " + strings.Join(not, ", ")
	}
	e.ok("token", "%s", said)
}

// programs looks for what workers run.
func (e *examination) programs(ctx context.Context) {
	out, err := exec.CommandContext(ctx, "git", "version").Output()
	if err != nil {
		e.warn("git", "not found: workers need it")
	} else {
		e.ok("git", "%s", strings.TrimPrefix(strings.TrimSpace(string(out)), "git version "))
	}
	var there []string
	for _, name := range engines.Names() {
		if _, err := exec.LookPath(name); err == nil {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		e.ok("engines", "none of %s is here; a worker can run any command", engines.Enumerate(engines.Names(), "and"))
		return
	}
	e.ok("engines", "%s", strings.Join(there, ", "))
}
