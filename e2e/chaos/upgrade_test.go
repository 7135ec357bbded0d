//go:build upgrade

package chaos

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
)

// Two servers of the version before work while one of this version migrates their database and
// works beside them; then they end, one after the other. Nobody is answered a 5xx, and each job
// ends as in any other run. FLEETBOARD_UPGRADE_ROUNDS is how many times; FLEETBOARD_UPGRADE_FROM
// the commit of the version before, the last one with fewer migrations where it is not set.
func TestAnUpgradeBesideTheVersionBefore(t *testing.T) {
	rounds := envtest.Number(t, "FLEETBOARD_UPGRADE_ROUNDS", 10)
	before := versionBefore(t)
	for n := range rounds {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) { upgrade(t, before) })
	}
}

// aside is how long the versions work beside each other before and after each change.
const aside = 4 * time.Second

func upgrade(t *testing.T, before string) {
	ctx, cancel := context.WithTimeout(t.Context(), settleLimit+time.Minute)
	defer cancel()
	s := &cluster{t: t, dir: keptDir(t)}
	s.postgres = newPostgres(t, s.dir)
	s.webs = newWebs(t, 3, s.postgres.url, s.dir)
	old, this := s.webs[:2], s.webs[2]
	for _, w := range old {
		w.program, w.env = before, append(w.env, "FLEETBOARD_DRAIN_SECONDS=2")
		if err := w.launch(ctx); err != nil {
			t.Fatal(err)
		}
	}
	front := newBalancer(ctx, t, s.webs)
	s.populate(ctx, []string{front.api()}, agents)

	watching, stopWatching := context.WithCancel(ctx)
	var viewer errgroup.Group
	viewer.Go(func() error { return front.watch(watching, logIn(ctx, t, front.URL)) })
	tending, stopTending := context.WithCancel(ctx)
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		_ = callertest.Rest(ctx, aside)
		if err := this.launch(ctx); err != nil {
			t.Error(err)
		}
		for _, w := range old {
			_ = callertest.Rest(ctx, aside)
			if err := w.proc.End(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}()
	tended := s.submitFor(tending, 5*aside)
	<-changed
	s.settle(ctx, settleLimit)
	s.webs = s.webs[2:]
	s.alive(ctx)
	stopWatching()
	if err := viewer.Wait(); err != nil {
		t.Errorf("a page: %v", err)
	}
	stopTending()
	tended.Wait()
	s.quiet()

	for _, f := range s.judge(ctx).faults {
		t.Error(f)
	}
	t.Logf("%d answers, %d of them 5xx, %d connections cut, %d jobs", front.answered+len(front.failed), len(front.failed), len(front.cut), len(s.person.jobs))
	for _, failed := range front.failed {
		t.Error(failed)
	}
	// A server that ends closes connections between their requests: a request that was on its way
	// on such a one is cut.
	for i, cut := range front.cut {
		if t.Log(cut); i >= len(old) {
			t.Errorf("more than one connection of each server was cut")
		}
	}
}

// logIn returns a client with a session of the owner.
func logIn(ctx context.Context, t *testing.T, address string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	form := url.Values{"email": {"mara@kestrel.example"}, "password": {"quiet watch room 12"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("the owner's log in was answered %d", answer.StatusCode)
	}
	return client
}

// versionBefore builds the server of the commit that FLEETBOARD_UPGRADE_FROM names, else of the one
// before the last that changed the schema.
func versionBefore(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = "../.."
		if name == "go" {
			cmd.Dir = dir
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := os.Getenv("FLEETBOARD_UPGRADE_FROM")
	if commit == "" {
		commit = run("git", "log", "-1", "--format=%H", "--", "db/schema") + "^"
	}
	archive, program := filepath.Join(dir, "before.tar"), filepath.Join(dir, "before")
	run("git", "archive", "--output", archive, commit)
	run("tar", "-xf", archive, "-C", dir)
	run("go", "build", "-trimpath", "-o", program, "./cmd/web")
	t.Logf("the version before is %s", run("git", "log", "-1", "--format=%h %s", commit))
	return program
}
