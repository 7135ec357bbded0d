package db_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// A pool whose server takes no changes any more goes over to the one that does, though its
// connections never broke: behind a pooler they outlive a failover.
func TestAPoolLeavesAServerThatTakesNoChanges(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	ws := addWorkspace(t, dbtest.Open(t, db.Options{OwnerURL: address}), "moved")
	owner, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(t.Context()) }()
	name := pgx.Identifier{owner.Config().Database}.Sanitize()
	if _, err := owner.Exec(t.Context(), "ALTER DATABASE "+name+" SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	d := dbtest.Open(t, db.Options{OwnerURL: address, MaxConns: 1}) // its connection begins read-only
	change := func() error {
		return d.In(t.Context(), db.Workspace(ws), func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'p')", ws)
			return err
		})
	}
	if err := change(); !isUnavailable(err) {
		t.Fatalf("a change while there is no primary: %v", err)
	}
	if _, err := owner.Exec(t.Context(), "ALTER DATABASE "+name+" RESET default_transaction_read_only"); err != nil {
		t.Fatal(err)
	}
	if err := change(); err != nil {
		t.Errorf("a change once there is a primary: %v", err)
	}
}

// behind returns the address of a database with other hosts before its own.
func behind(t *testing.T, address string, others ...string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	var hosts, ports []string
	for _, other := range append(others, net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))) {
		host, port, err := net.SplitHostPort(other)
		if err != nil {
			t.Fatal(err)
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	query := url.Values{"host": {strings.Join(hosts, ",")}, "port": {strings.Join(ports, ",")}, "sslmode": {"disable"}}
	return fmt.Sprintf("postgres://%s@/%s?%s", cfg.User, cfg.Database, query.Encode())
}

// silentHost returns the address of a machine that answers nothing.
func silentHost(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// Of several hosts the one that leads is found within the time of one request, be those before it
// dead or silent.
func TestHostsThatAreAwayArePassedOver(t *testing.T) {
	t.Parallel()
	address := behind(t, dbtest.URL(t), "127.0.0.1:1", silentHost(t), silentHost(t))
	if err := db.Migrate(t.Context(), address); err != nil {
		t.Errorf("migrations: %v", err)
	}
	d := dbtest.Open(t, db.Options{OwnerURL: address})
	if err := d.CheckWrite(t.Context()); err != nil {
		t.Errorf("a transaction: %v", err)
	}
	conn, err := d.Listen(t.Context())
	if err != nil {
		t.Fatalf("a connection to listen on: %v", err)
	}
	_ = conn.Close(t.Context())
}
