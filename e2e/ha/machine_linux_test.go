package ha

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/nstest"
	"github.com/fleetboard/fleetboard/e2e/callertest"
)

// machine is Patroni with its PostgreSQL. They see only their own processes, so that to kill the
// first one is to kill them all, as a power cut does.
type machine struct {
	*part

	postgres, rest string // addresses
	data           string
}

// postgresPrograms returns the directory of PostgreSQL's programs.
func postgresPrograms() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		path, _ := exec.LookPath("postgres")
		return filepath.Dir(path)
	}
	return filepath.Dir(found[len(found)-1])
}

// startMachines starts the three machines, and waits until one leads and the others follow.
func (c *cluster) startMachines() {
	config, err := filepath.Abs("../../deploy/ha/patroni.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	var parts []*part
	for i := range three {
		name := fmt.Sprintf("machine-%d", i+1)
		m := &machine{postgres: c.address(), rest: c.address(), data: filepath.Join(c.dir, name)}
		env := c.machineEnv(name, m)
		m.part = &part{t: c.t, name: name, log: c.logOf(name),
			command: func() *exec.Cmd {
				cmd := program(c.t, "patroni", config)
				nstest.Contain(cmd)
				cmd.Env = env
				return cmd
			},
			ready: func(ctx context.Context) bool { return answers(ctx, "http://"+m.rest+"/health") }}
		c.machines, parts = append(c.machines, m), append(parts, m.part)
	}
	c.together(parts)
	c.awaitWhole(c.t.Context())
}

// machineEnv is what differs between machines; deploy/ha/patroni.yaml lists it.
func (c *cluster) machineEnv(name string, m *machine) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "LC_ALL=C.UTF-8",
		"PATRONI_NAME=" + name, "PATRONI_ETCD3_HOSTS='" + strings.Join(c.etcdHosts, "','") + "'",
		"PATRONI_RESTAPI_LISTEN=" + m.rest, "PATRONI_RESTAPI_CONNECT_ADDRESS=" + m.rest,
		"PATRONI_POSTGRESQL_LISTEN=" + m.postgres, "PATRONI_POSTGRESQL_CONNECT_ADDRESS=" + m.postgres,
		"PATRONI_POSTGRESQL_DATA_DIR=" + m.data, "PATRONI_POSTGRESQL_BIN_DIR=" + postgresPrograms(),
		"PATRONI_POSTGRESQL_PGPASS=" + m.data + ".pgpass",
		"PATRONI_SUPERUSER_USERNAME=postgres", "PATRONI_SUPERUSER_PASSWORD=" + password,
		"PATRONI_REPLICATION_USERNAME=replicator", "PATRONI_REPLICATION_PASSWORD=" + password}
}

// answers reports whether an address answers 200.
func answers(ctx context.Context, url string) bool { return get(ctx, url, nil) == nil }

// get reads JSON from an address; into may be nil.
func get(ctx context.Context, url string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// standing is what Patroni knows of its machines.
type standing struct {
	Members []struct{ Name, Role, State string }
}

// whole reports whether one machine leads, one has all that is committed, and all run.
func (s standing) whole() bool {
	roles, running := map[string]int{}, 0
	for _, m := range s.Members {
		roles[m.Role]++
		if m.State == "running" || m.State == "streaming" {
			running++
		}
	}
	return running == three && roles["leader"] == 1 && roles["sync_standby"] >= 1
}

// standing asks whichever machine answers.
func (c *cluster) standing(ctx context.Context) (s standing) {
	for _, m := range c.machines {
		if get(ctx, "http://"+m.rest+"/cluster", &s) == nil && len(s.Members) > 0 {
			return s
		}
	}
	return standing{}
}

// wholeLimit is how long a cluster may take to mend itself. A machine that is made anew copies the
// whole database.
const wholeLimit = 2 * time.Minute

// awaitWhole waits until nothing is missing that a failover needs.
func (c *cluster) awaitWhole(ctx context.Context) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	for !c.standing(ctx).whole() {
		if callertest.Rest(ctx, 200*time.Millisecond) != nil {
			c.t.Fatalf("PostgreSQL is not whole within %s: %+v", wholeLimit, c.standing(c.t.Context()))
		}
	}
}

// primary returns the machine that leads, nil where none does.
func (c *cluster) primary(ctx context.Context) *machine {
	for _, one := range c.standing(ctx).Members {
		for _, m := range c.machines {
			if one.Role == "leader" && m.name == one.Name {
				return m
			}
		}
	}
	return nil
}

// killPostgres kills PostgreSQL's first process and leaves Patroni alone. It is found by its data,
// since the machine counts its processes by itself.
func (m *machine) killPostgres() error {
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "bin/postgres\x00-D\x00"+m.data+"\x00") {
			continue // of somebody else, or ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return fmt.Errorf("%s has no PostgreSQL", m.name)
}

// startPoolers starts a PgBouncer on each machine, and returns the address of the application's
// login through them.
func (c *cluster) startPoolers() string {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.direct)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close(c.t.Context()) }()
	for _, sql := range []string{
		"CREATE ROLE fleetboard_pooled LOGIN NOINHERIT PASSWORD '" + password + "'",
		"GRANT fleetboard_app, fleetboard_system TO fleetboard_pooled",
	} {
		if _, err := conn.Exec(c.t.Context(), sql); err != nil {
			c.t.Fatalf("%s: %v", sql, err)
		}
	}
	var hosts []string
	for i, m := range c.machines {
		name, at := fmt.Sprintf("pgbouncer-%d", i+1), c.address()
		ini := filepath.Join(c.dir, name+".ini")
		if err := os.WriteFile(ini, []byte(poolerConfig(m.postgres, at)), 0o600); err != nil {
			c.t.Fatal(err)
		}
		giveToPostgres(c.t, ini)
		p := &part{t: c.t, name: name, log: c.logOf(name),
			command: func() *exec.Cmd { return program(c.t, "/usr/sbin/pgbouncer", ini) },
			ready: func(ctx context.Context) bool {
				near, err := new(net.Dialer).DialContext(ctx, "tcp", at)
				if err == nil {
					_ = near.Close()
				}
				return err == nil
			}}
		p.start()
		c.poolers, hosts = append(c.poolers, p), append(hosts, at)
	}
	return address("fleetboard_pooled", hosts, "fleetboard")
}

// poolerConfig is that of a PgBouncer for one machine. It asks again soon after a failed log in:
// by itself it would wait for 15 seconds after a failover.
func poolerConfig(postgres, at string) string {
	host, port, _ := net.SplitHostPort(postgres)
	_, listen, _ := net.SplitHostPort(at)
	return fmt.Sprintf(`[databases]
fleetboard = host=%s port=%s user=fleetboard_pooled password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 16
max_client_conn = 200
server_login_retry = 1
`, host, port, password, listen)
}

// startProxy starts HAProxy.
func (c *cluster) startProxy() {
	config, err := filepath.Abs("../../deploy/ha/haproxy.cfg")
	if err != nil {
		c.t.Fatal(err)
	}
	at := c.address()
	c.api = "http://" + at + "/api/v1"
	c.proxy = &part{t: c.t, name: "haproxy", log: c.logOf("haproxy"),
		command: func() *exec.Cmd {
			cmd := program(c.t, "/usr/sbin/haproxy", "-db", "-f", config)
			cmd.Env = []string{"FLEETBOARD_BIND=" + at, "FLEETBOARD_ONE=" + c.serverAt[0], "FLEETBOARD_TWO=" + c.serverAt[1],
				"FLEETBOARD_THREE=" + c.serverAt[2]}
			return cmd
		},
		ready: func(ctx context.Context) bool { return answers(ctx, "http://"+at+"/readyz") }}
	c.proxy.start()
}

// signalAll sends a signal to every process of the machine: the first one and all that it and its
// children started.
func (m *machine) signalAll(t *testing.T, sig syscall.Signal) {
	t.Helper()
	of := map[int][]int{}
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Error(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		var parent int
		var state string
		_, after, _ := strings.Cut(string(text), ") ") // behind the program's name
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if _, err := fmt.Sscan(after, &state, &parent); err == nil {
			of[parent] = append(of[parent], pid)
		}
	}
	for next := []int{m.child.PID()}; len(next) > 0; next = next[1:] {
		_ = syscall.Kill(next[0], sig)
		next = append(next, of[next[0]]...)
	}
}
