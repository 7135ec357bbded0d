package ha

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

const (
	three = 3
	// firstPort is below the range of outgoing connections, and of other tests.
	firstPort = 15000
	// startLimit bounds the start of one part.
	startLimit = 2 * time.Minute
	// password is that of all logins of a cluster that lives for minutes on one machine.
	password = "quiet-watch-room"
)

// part is a program of the cluster that is killed and started again.
type part struct {
	t       *testing.T
	name    string
	command func() *exec.Cmd
	log     string
	// ready reports whether it does its work.
	ready func(ctx context.Context) bool

	child *processtest.Child
}

// start starts the part, and again where it ends by itself, until it is ready.
func (p *part) start() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), startLimit)
	defer cancel()
	for !p.ready(ctx) {
		if p.child == nil || p.child.Gone() {
			var err error
			if p.child, err = processtest.StartChild(p.t, p.name, p.command(), p.log, syscall.SIGKILL); err != nil {
				p.t.Error(err)
				return
			}
		}
		if callertest.Rest(ctx, 100*time.Millisecond) != nil {
			p.t.Errorf("%s is not ready within %s, see %s", p.name, startLimit, p.log)
			return
		}
	}
}

func (p *part) kill() {
	if err := p.child.End(syscall.SIGKILL); err != nil {
		p.t.Error(err)
	}
}

// cluster is everything that runs.
type cluster struct {
	t    *testing.T
	dir  string // of data, removed in the end
	logs string // kept where the test fails

	etcd      []*part
	etcdHosts []string
	machines  []*machine
	poolers   []*part
	servers   []*part
	serverAt  []string // addresses
	proxy     *part
	direct    string // DATABASE_URL
	api       string // address of the API by way of the proxy
}

// newCluster starts everything.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: dataDir(t), logs: logDir(t)}
	c.startEtcd()
	c.startMachines()
	c.makeDatabase()
	c.startServers()
	c.startProxy()
	return c
}

// memoryNeeded is what the data of a run fits into.
const memoryNeeded = 4 << 30

// dataDir returns a directory in memory where there is space, since three machines share one disk
// here. The user postgres owns it.
func dataDir(t *testing.T) string {
	t.Helper()
	parent := "/dev/shm"
	var disk syscall.Statfs_t
	if err := syscall.Statfs(parent, &disk); err != nil || disk.Bavail*uint64(max(0, disk.Bsize)) < memoryNeeded {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "fleetboard-ha-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	giveToPostgres(t, dir)
	return dir
}

// giveToPostgres gives a file or directory to the user that runs PostgreSQL.
func giveToPostgres(t *testing.T, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

func logDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fleetboard-ha-logs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs are kept in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// logOf returns the path of a part's log.
func (c *cluster) logOf(name string) string { return filepath.Join(c.logs, name+".log") }

func (c *cluster) address() string { return processtest.FreeAddress(c.t, firstPort) }

// startEtcd starts the three members that Patroni asks who leads.
func (c *cluster) startEtcd() {
	var clients, peers, members []string
	for i := range three {
		clients, peers = append(clients, "http://"+c.address()), append(peers, "http://"+c.address())
		members = append(members, fmt.Sprintf("etcd-%d=%s", i+1, peers[i]))
	}
	for i := range three {
		name := fmt.Sprintf("etcd-%d", i+1)
		c.etcd = append(c.etcd, &part{t: c.t, name: name, log: c.logOf(name),
			command: func() *exec.Cmd {
				return program(c.t, "etcd", "--name", name, "--data-dir", filepath.Join(c.dir, name), "--initial-cluster", strings.Join(members, ","),
					"--initial-cluster-token", "fleetboard", "--initial-cluster-state", "new",
					"--listen-client-urls", clients[i], "--advertise-client-urls", clients[i],
					"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
					// Two processors for three members and all the rest: leaders must not be elected for nothing.
					"--heartbeat-interval", "250", "--election-timeout", "2500", "--logger", "zap", "--log-level", "warn")
			},
			ready: func(ctx context.Context) bool { return answers(ctx, clients[i]+"/health") }})
	}
	// A member is ready when the most are there.
	c.together(c.etcd)
	for _, url := range clients {
		c.etcdHosts = append(c.etcdHosts, strings.TrimPrefix(url, "http://"))
	}
}

// together starts parts at the same time.
func (c *cluster) together(parts []*part) {
	done := make(chan struct{})
	for _, p := range parts {
		go func() { defer func() { done <- struct{}{} }(); p.start() }()
	}
	for range parts {
		<-done
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// makeDatabase makes the owner's login and the database, as docs/operating.md has it.
func (c *cluster) makeDatabase() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url("postgres", "postgres"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range []string{
		"CREATE ROLE fleetboard LOGIN CREATEROLE PASSWORD '" + password + "'",
		"CREATE DATABASE fleetboard OWNER fleetboard",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			c.t.Fatalf("%s: %v", sql, err)
		}
	}
	c.direct = c.url("fleetboard", "fleetboard")
}

// url returns the address of a database, on whichever machine leads.
func (c *cluster) url(login, database string) string {
	var hosts []string
	for _, m := range c.machines {
		hosts = append(hosts, m.postgres)
	}
	return address(login, hosts, database)
}

func address(login string, hosts []string, database string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable&target_session_attrs=primary", login, password, strings.Join(hosts, ","), database)
}

// startServers starts the three servers. The first one migrates; the third one's queries go
// through PgBouncer.
func (c *cluster) startServers() {
	for i := range three {
		name, at := fmt.Sprintf("server-%d", i+1), c.address()
		env := []string{"DATABASE_URL=" + c.direct, "FLEETBOARD_DATA_DIR=" + filepath.Join(c.dir, "data"), "FLEETBOARD_LISTEN=" + at,
			"FLEETBOARD_TRUSTED_PROXIES=127.0.0.1/32", "FLEETBOARD_ADMIN_EMAIL=mara@kestrel.example",
			"FLEETBOARD_ADMIN_PASSWORD=quiet watch room 12", "PATH=" + os.Getenv("PATH"), "HOME=" + c.dir}
		if i == 2 {
			env = append(env, "FLEETBOARD_APP_DATABASE_URL="+c.startPoolers())
		}
		server := &part{t: c.t, name: name, log: c.logOf(name),
			command: func() *exec.Cmd {
				cmd := exec.Command(serverProgram) //nolint:noctx // ended by the monkey or the clean-up
				cmd.Env = env
				return cmd
			},
			ready: func(ctx context.Context) bool { return processtest.IsReady(ctx, at) }}
		c.servers = append(c.servers, server)
		server.start()
		c.serverAt = append(c.serverAt, at)
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// token reads one of the tokens that the first start wrote.
func (c *cluster) token(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "data", name))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
