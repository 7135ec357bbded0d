package chaos

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
)

// A standby is promoted that lacks what was acknowledged last. The servers notice it, look at
// everything by themselves, and name the jobs whose events are missing, until somebody knows of it.
// Who reads the log on from a place that was lost misses nothing that comes later.
func TestAStandbyWithoutTheLastSecondIsNoticed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	dir := keptDir(t)
	primary := newPostgres(t, dir)
	standby := newStandby(ctx, t, primary, dir)
	webs := newWebs(t, 2, both(t, primary, standby), dir)
	for i, w := range webs {
		w.env = append(w.env, "FLEETBOARD_DATA_DIR="+filepath.Join(dir, "data"))
		if i > 0 { // of its own, with the key of the first one
			w.env = append(w.env, "FLEETBOARD_DATA_DIR="+filepath.Join(dir, w.name), "FLEETBOARD_SECRET_KEY_FILE="+filepath.Join(dir, "data", "secret-key"))
		}
		if err := w.launch(ctx); err != nil {
			t.Fatal(err)
		}
	}
	owner := token(t, dir, "owner-token")
	client := speak(t, webs[1], owner)
	create(ctx, t, client, "kept", 3)
	standby.caughtUp(ctx, primary)
	standby.cutFrom(ctx)
	primary.useUp(ctx, 2000)
	lost := create(ctx, t, client, "lost", 3)
	place := lastPlace(ctx, t, client)
	awaitThat(ctx, t, "the second server has seen what will be lost", func() bool {
		return witnessed(t, filepath.Join(dir, webs[1].name), lost[len(lost)-1])
	})

	primary.crash(syscall.SIGKILL)
	standby.promote(ctx)

	var status *api.CoordinatorStatus
	awaitThat(ctx, t, "the loss is named and everything was looked at", func() bool {
		answer, err := client.GetCoordinatorStatusWithResponse(ctx)
		if err != nil || answer.JSON200 == nil {
			return false
		}
		status = answer.JSON200
		return len(status.Proofs) == 1 && status.Proofs[0].DoneAt != nil && len(namedJobs(status.Losses)) == len(lost)
	})
	if p := status.Proofs[0]; p.Kind != api.ProofPromoted || !p.Complete || p.Jobs != 3 {
		t.Errorf("the proof is %+v; want a promotion, complete, of the 3 jobs that are left", p)
	}
	if named := namedJobs(status.Losses); !slices.Equal(named, lost) {
		t.Errorf("the jobs %v are named; want %v", named, lost)
	}

	again := create(ctx, t, client, "after", 1)
	events, err := client.ListEventsWithResponse(ctx, &api.ListEventsParams{After: &place})
	if err != nil || events.JSON200 == nil {
		t.Fatalf("read on: %v %v", err, events)
	}
	if !slices.ContainsFunc(events.JSON200.Items, func(e api.Event) bool { return e.Type == "job.created" && e.Job == again[0] }) {
		t.Errorf("who reads on from a place that was lost does not see %s: %s", again[0], events.Body)
	}
	noted, err := client.NoteLossesWithResponse(ctx)
	if err != nil || noted.JSON200 == nil || noted.JSON200.Noted == 0 {
		t.Errorf("note the losses: %v %v", err, noted)
	}
}

// namedJobs are the keys of new jobs that losses name, each once, in order.
func namedJobs(losses []api.LogLoss) []string {
	var keys []string
	for _, l := range losses {
		for _, e := range l.Events {
			if e.Type == "job.created" && !slices.Contains(keys, e.Job) {
				keys = append(keys, e.Job)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// create makes jobs and returns their keys.
func create(ctx context.Context, t *testing.T, c *api.ClientWithResponses, title string, n int) []string {
	t.Helper()
	var keys []string
	for i := range n {
		answer, err := c.CreateJobWithResponse(ctx, nil, api.NewJob{Title: fmt.Sprint(title, " ", i)})
		if err != nil || answer.JSON201 == nil {
			t.Fatalf("create a job: %v %v", err, answer)
		}
		keys = append(keys, answer.JSON201.Key)
	}
	return keys
}

// lastPlace is the end of the log.
func lastPlace(ctx context.Context, t *testing.T, c *api.ClientWithResponses) (place string) {
	t.Helper()
	awaitThat(ctx, t, "the end of the log is read", func() bool {
		answer, err := c.ListEventsWithResponse(ctx, &api.ListEventsParams{After: &place})
		if err != nil || answer.JSON200 == nil {
			t.Fatalf("read the log: %v %v", err, answer)
		}
		place = answer.JSON200.NextAfter
		return len(answer.JSON200.Items) == 0
	})
	return place
}

// witnessed reports whether a server has written down a job.
func witnessed(t *testing.T, dir, key string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, witness.FileName))
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var s struct{ Text string }
		if json.Unmarshal([]byte(line), &s) != nil {
			continue // half of a line
		}
		said, err := base64.StdEncoding.DecodeString(s.Text)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(said), `"`+key+`"`) {
			return true
		}
	}
	return false
}

// awaitThat waits until something holds.
func awaitThat(ctx context.Context, t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// useUp begins and ends transactions, so that the numbers of later ones are far from those that the
// standby goes on with.
func (p *postgres) useUp(ctx context.Context, n int) {
	p.t.Helper()
	err := p.ask(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`, n))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// standby follows a primary from a port of its own.
type standby struct{ *postgres }

// newStandby makes a standby of a primary by pg_basebackup, and starts it.
func newStandby(ctx context.Context, t *testing.T, primary *postgres, dir string) *standby {
	t.Helper()
	u, err := url.Parse(primary.url)
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	values.Set("port", "5433")
	u.RawQuery = values.Encode()
	s := &standby{&postgres{t: t, url: u.String(), program: primary.program, socket: primary.socket, log: filepath.Join(dir, "standby.log"),
		data: filepath.Join(filepath.Dir(primary.data), "standby")}}
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(primary.program), "pg_basebackup"), "-D", s.data, "-R", "-X", "stream", "-c", "fast",
		"-h", primary.socket, "-p", primary.port(), "-U", u.User.Username())
	cmd.Dir, cmd.Env = filepath.Dir(primary.data), []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if owner, err := os.Stat(primary.data); err == nil && os.Geteuid() == 0 {
		stat := owner.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	s.start()
	return s
}

// both is the address of whichever of the two takes writes.
func both(t *testing.T, one *postgres, other *standby) string {
	t.Helper()
	u, err := url.Parse(one.url)
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	values.Set("host", one.socket+","+other.socket)
	values.Set("port", one.port()+","+other.port())
	values.Set("target_session_attrs", "read-write")
	u.RawQuery = values.Encode()
	return u.String()
}

// caughtUp waits until the standby has what the primary has.
func (s *standby) caughtUp(ctx context.Context, primary *postgres) {
	s.t.Helper()
	var position string
	s.one(ctx, primary, `SELECT pg_current_wal_flush_lsn()::text`, &position)
	awaitThat(ctx, s.t, "the standby has caught up", func() (reached bool) {
		s.one(ctx, s.postgres, `SELECT coalesce(pg_last_wal_replay_lsn() >= '`+position+`'::pg_lsn, false)`, &reached)
		return reached
	})
}

// cutFrom ends the standby's connection with its primary for good.
func (s *standby) cutFrom(ctx context.Context) {
	s.t.Helper()
	err := s.ask(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `ALTER SYSTEM SET primary_conninfo = ''`)
		if err == nil {
			_, err = conn.Exec(ctx, `SELECT pg_reload_conf()`)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	awaitThat(ctx, s.t, "the standby receives nothing", func() (none bool) {
		s.one(ctx, s.postgres, `SELECT count(*) = 0 FROM pg_stat_wal_receiver`, &none)
		return none
	})
}

// promote makes the standby take writes.
func (s *standby) promote(ctx context.Context) {
	s.t.Helper()
	var promoted bool
	if s.one(ctx, s.postgres, `SELECT pg_promote()`, &promoted); !promoted {
		s.t.Fatal("the standby was not promoted")
	}
}

// one reads one value from a server.
func (s *standby) one(ctx context.Context, from *postgres, query string, into any) {
	s.t.Helper()
	if err := from.ask(ctx, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, query).Scan(into) }); err != nil {
		s.t.Fatal(err)
	}
}
