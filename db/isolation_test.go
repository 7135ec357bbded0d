package db_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// defaultCrossings is how many transactions one run ends; FLEETBOARD_ISOLATION_CROSSINGS
	// says otherwise (make soak).
	defaultCrossings = 3_000
	crossers         = 32
	crossConns       = 4
	tenants          = 48
	// productsOfEach is how many rows a workspace must see, no more and no less.
	productsOfEach = 3
)

// tenant is a workspace with a person and a token of its own.
type tenant struct {
	workspace, account ids.ID
	hash               []byte
	// How often its counter was raised, for sure and perhaps.
	raised, perhaps atomic.Int64
}

// crossing runs transactions of many workspaces over few connections.
type crossing struct {
	t       *testing.T
	db      *db.DB
	owner   *pgxpool.Pool
	tenants []*tenant

	mu    sync.Mutex
	fates map[string]int
}

var errOwn = errors.New("the caller's own error")

// However transactions end (saved, refused, by a panic, a cancelled caller, a
// statement over its time, a killed connection), the next one on the connection
// sees its own workspace and nothing of the last one's.
func TestFewConnectionsServeManyWorkspaces(t *testing.T) {
	t.Parallel()
	seed, crossings := envtest.Number[uint64](t, "FLEETBOARD_ISOLATION_SEED", 20261121), envtest.Number(t, "FLEETBOARD_ISOLATION_CROSSINGS", defaultCrossings)
	t.Logf("FLEETBOARD_ISOLATION_SEED=%d", seed)
	c := newCrossing(t)
	var all sync.WaitGroup
	for n := range crossers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			for range crossings / crossers {
				if t.Failed() {
					return
				}
				c.cross(r, c.tenants[r.IntN(tenants)])
			}
		})
	}
	all.Wait()

	// The pool heals, and nothing of the past is left in it.
	for _, one := range c.tenants {
		for what, in := range c.doors(one) {
			enter := func() error {
				return c.db.In(t.Context(), in.scope, func(tx db.Tx) error { return c.look(t.Context(), tx, one, what, in.want) }, in.options...)
			}
			err := enter()
			// Each connection may have been killed last, and be found out here.
			for dead := 0; fault.Is(err, fault.Unavailable) && dead < crossConns; dead++ {
				err = enter()
			}
			if err != nil {
				t.Errorf("%s after the storm: %v", what, err)
			}
		}
		var next int64
		if err := c.owner.QueryRow(t.Context(), `SELECT next FROM job_number WHERE workspace_id = $1`, one.workspace).Scan(&next); err != nil {
			t.Fatal(err)
		}
		if sure, most := one.raised.Load()+1, one.raised.Load()+one.perhaps.Load()+1; next < sure || next > most {
			t.Errorf("a counter of one workspace is %d; its own transactions make it %d to %d", next, sure, most)
		}
	}
	if acquired, _, total := c.db.Stat(); acquired != 0 || total > crossConns {
		t.Errorf("%d connections are in use, %d are open", acquired, total)
	}
	t.Logf("%d transactions ended so: %v", crossings, c.fates)
	for _, fate := range []string{"saved", "own error", "panic", "cancelled", "broken statement", "over its time", "killed"} {
		if c.fates[fate] < crossings/200 {
			t.Errorf("only %d transactions ended with %s; the test shows less than it says", c.fates[fate], fate)
		}
	}
}

func newCrossing(t *testing.T) *crossing {
	t.Helper()
	made := dbtest.New(t)
	address := dbtest.Owner(t, made).Config().ConnString()
	few, err := db.Open(t.Context(), db.Options{OwnerURL: address, MaxConns: crossConns, AcquireTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(few.Close)
	owner, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(owner.Close)
	c := &crossing{t: t, db: few, owner: owner, fates: map[string]int{}}
	for n := range tenants {
		one := &tenant{workspace: dbfactory.Workspace(t, made), account: ids.New(), hash: fmt.Appendf(nil, "token %d", n)}
		dbfactory.Exec(t, made, `INSERT INTO account (id, email, name) VALUES ($1::uuid, $1::uuid || '@example.org', 'Ada')`, one.account)
		dbfactory.Exec(t, made, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'owner')`, one.workspace, one.account)
		dbfactory.Exec(t, made, `INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, created_by, account_id)
			VALUES ($1, gen_random_uuid(), 'person', 'ci', $2, 'fb', 'test', $3)`, one.workspace, one.hash, one.account)
		dbfactory.Exec(t, made, `INSERT INTO product (workspace_id, id, name)
			SELECT $1, gen_random_uuid(), 'product ' || n FROM generate_series(2, $2::int) n`, one.workspace, productsOfEach)
		c.tenants = append(c.tenants, one)
	}
	return c
}

// sight is all that a transaction sees: its role and settings, and how many
// rows there are, of which how many are the tenant's.
type sight struct {
	role, workspace, account, token                 string
	products, workspaces, own, tokens, ownersTokens int
	members, ownMembers                             int
}

// door is one of the kinds of transaction, and what is seen through it.
type door struct {
	scope   db.Scope
	want    sight
	options []db.Option
}

func (c *crossing) doors(one *tenant) map[string]door {
	const app = "fleetboard_app"
	inside := sight{role: app, workspace: one.workspace.String(), products: productsOfEach, workspaces: 1, own: 1, tokens: 1, ownersTokens: 1, members: 1, ownMembers: 1}
	bearer := sight{role: app, token: hex.EncodeToString(one.hash), workspaces: 1, own: 1, tokens: 1, ownersTokens: 1, members: 1, ownMembers: 1}
	once := []db.Option{db.OneRead}
	return map[string]door{
		"a workspace":       {scope: db.Workspace(one.workspace), want: inside},
		"a workspace, once": {scope: db.Workspace(one.workspace), want: inside, options: once},
		"an account": {scope: db.Account(one.account),
			want: sight{role: app, account: one.account.String(), workspaces: 1, own: 1, members: 1, ownMembers: 1}},
		"a token":       {scope: db.Token(one.hash), want: bearer},
		"a token, once": {scope: db.Token(one.hash), want: bearer, options: once},
		"the system":    {scope: db.System, want: sight{role: "fleetboard_system", workspaces: tenants, own: 1}},
		"nothing":       {scope: db.None, want: sight{role: app}},
		"nothing, once": {scope: db.None, want: sight{role: app}, options: once},
	}
}

// look compares what a transaction sees with what it may see, in one statement.
func (c *crossing) look(ctx context.Context, tx db.Tx, one *tenant, what string, want sight) error {
	sql := `SELECT current_user::text, coalesce(current_setting('app.workspace_id', true), ''),
		coalesce(current_setting('app.account_id', true), ''), coalesce(current_setting('app.token_hash', true), ''),
		(SELECT count(*) FROM workspace), (SELECT count(*) FROM workspace WHERE id = $1)`
	var got sight
	var foreign int
	args, into := []any{one.workspace}, []any{&got.role, &got.workspace, &got.account, &got.token, &got.workspaces, &got.own}
	if want.role == "fleetboard_app" {
		sql += `, (SELECT count(*) FROM product), (SELECT count(*) FROM product WHERE workspace_id <> $1),
			(SELECT count(*) FROM access_token), (SELECT count(*) FROM access_token WHERE token_hash = $2),
			(SELECT count(*) FROM membership), (SELECT count(*) FROM membership WHERE workspace_id = $1 AND account_id = $3)`
		args = append(args, one.hash, one.account)
		into = append(into, &got.products, &foreign, &got.tokens, &got.ownersTokens, &got.members, &got.ownMembers)
	}
	if err := tx.QueryRow(ctx, sql, args...).Scan(into...); err != nil {
		return err
	}
	if got != want || foreign > 0 {
		c.t.Errorf("%s sees %+v, %d of it foreign; want %+v", what, got, foreign, want)
	}
	return nil
}

// cross runs one transaction and lets it end in one of many ways.
func (c *crossing) cross(r *rand.Rand, one *tenant) {
	what := []string{"a workspace", "a workspace", "a workspace", "an account", "a token", "the system", "nothing",
		"a workspace, once", "a token, once", "nothing, once"}[r.IntN(10)]
	in := c.doors(one)[what]
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	fate := []string{"own error", "own error", "panic", "panic", "cancelled", "cancelled", "cancelled", "broken statement",
		"over its time", "killed", "somebody killed", "saved"}[min(r.IntN(20), 11)]
	if in.options != nil && slices.Contains([]string{"broken statement", "over its time", "killed"}, fate) {
		fate = "saved" // there is no second statement
	}
	if fate == "cancelled" {
		// At any place: while it waits for a connection, begins, reads or commits.
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(4000))*time.Microsecond)
		defer cancel()
	}
	early, raises, ran := r.IntN(3) == 0, what == "a workspace" && r.IntN(3) == 0, false
	err := func() (err error) {
		defer func() {
			if recover() != nil {
				err = errOwn
			}
		}()
		return c.db.In(ctx, in.scope, func(tx db.Tx) error {
			if fate == "killed" && early {
				if err := c.kill(ctx, tx); err != nil {
					return err
				}
			}
			if err := c.look(ctx, tx, one, what, in.want); err != nil {
				return err
			}
			if raises {
				if err := c.raise(ctx, tx, one); err != nil {
					return err
				}
			}
			ran = true
			return c.end(ctx, tx, fate)
		}, in.options...)
	}()
	c.account(fate, ran && raises, one, err)
}

// raise adds one to the counter of every workspace that the transaction reaches.
func (c *crossing) raise(ctx context.Context, tx db.Tx, one *tenant) error {
	rows, _ := tx.Query(ctx, `UPDATE job_number SET next = next + 1 RETURNING workspace_id`)
	of, err := pgx.CollectRows(rows, pgx.RowTo[ids.ID])
	if err == nil && (len(of) != 1 || of[0] != one.workspace) {
		c.t.Errorf("a change without a condition reached %d rows: %v", len(of), of)
	}
	return err
}

// end brings the fate about.
func (c *crossing) end(ctx context.Context, tx db.Tx, fate string) error {
	switch fate {
	case "own error":
		return errOwn
	case "panic":
		panic("boom")
	case "broken statement":
		_, err := tx.Exec(ctx, `SELECT 1 / 0`)
		return err
	case "over its time":
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '1ms'`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT pg_sleep(5)`)
		return err
	case "killed":
		return c.kill(ctx, tx)
	case "somebody killed":
		_, err := c.owner.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'fleetboard' ORDER BY random() LIMIT 1) one`)
		return err
	}
	return nil
}

// kill ends the transaction's own connection from outside. Its error is that of a
// transaction whose connection somebody else killed before.
func (c *crossing) kill(ctx context.Context, tx db.Tx) error {
	var pid int
	if err := tx.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		return err
	}
	if _, err := c.owner.Exec(c.t.Context(), `SELECT pg_terminate_backend($1)`, pid); err != nil {
		c.t.Errorf("kill: %v", err)
	}
	return nil
}

// account checks that the error is one that the fate explains, and keeps what
// became of the transaction.
func (c *crossing) account(fate string, raised bool, one *tenant, err error) {
	ended := fate
	switch {
	case err == nil:
		ended = "saved"
		if raised {
			one.raised.Add(1)
		}
	case errors.Is(err, db.ErrOutcomeUnknown):
		if raised {
			one.perhaps.Add(1)
		}
	case errors.Is(err, errOwn) || errors.Is(err, context.DeadlineExceeded) && fate == "cancelled":
	case fault.Is(err, fault.Unavailable):
		// Anybody's connection may be the one that somebody killed.
		if fate != "over its time" && fate != "killed" {
			ended = "killed by another"
		}
	case fate == "broken statement":
	default:
		c.t.Errorf("%s ended with %v", fate, err)
	}
	c.mu.Lock()
	c.fates[ended]++
	c.mu.Unlock()
}
