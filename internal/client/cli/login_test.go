package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogin keeps tokens for the owner of the file alone, and uses them.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	clear(w.env)
	if said := w.fleetIn(w.owner+"\n", "login", w.url).ok(); !strings.Contains(said, "as context 127.0.0.1") {
		t.Errorf("login said %q", said)
	}
	file := filepath.Join(w.home, "config", "fleet", "config.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the tokens: %v, %v", info.Mode(), err)
	}
	if said := w.fleet("version").ok(); !strings.Contains(said, "server test") {
		t.Errorf("version said %q", said)
	}
	// An enrolment token is kept beside the other.
	w.fleetIn(w.enrolment, "login", w.url).ok()
	var kept struct {
		Items []struct {
			Name    string `json:"name"`
			Current bool   `json:"current"`
			Token   bool   `json:"token"`
			Enrols  bool   `json:"enrolment_token"`
		} `json:"items"`
	}
	w.fleet("context", "list", "--json").into(&kept)
	if len(kept.Items) != 1 || !kept.Items[0].Current || !kept.Items[0].Token || !kept.Items[0].Enrols {
		t.Errorf("contexts: %+v", kept)
	}
	if listed := w.fleet("context", "list").ok(); strings.Contains(listed, w.owner) || !strings.Contains(listed, w.url) {
		t.Errorf("context list shows a token, or no server: %q", listed)
	}
	w.fleet("context", "use", "elsewhere").ends(4)
	w.fleet("--context", "elsewhere", "version").ends(4)
	w.fleet("logout").ok()
	if left := w.read(file); strings.Contains(left, "fb_") {
		t.Errorf("after the log-out the file has %s", left)
	}
}

// TestLoginAsks: on a terminal the command asks for the server and the token, and the token is
// read where it is not shown. A file may have it as well.
func TestLoginAsks(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	token := w.owner
	clear(w.env)
	w.secret = token
	r := w.fleetIn(w.url+"\n", "login", "--name", "work").ends(0)
	if strings.Contains(r.out+r.err, token) || !strings.Contains(r.err, "Token (it is not shown): ") || !strings.Contains(r.out, w.url+" as context work") {
		t.Errorf("login said %q and %q", r.out, r.err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.secret = "fb_person_other"
	w.fleet("login", w.url, "--name", "home", "--token-file", file).ok()
	w.fleet("context", "use", "work").ok()
	w.fleet("context", "remove", "home").ok()
	w.fleet("job", "list").ok()
	w.fleet("login", w.url, "--token-file", file+"s").ends(2)
}

// TestTokensAreNotLaidOpen: plain http over a network is warned about before the token
// goes there, and the doctor finds a file that others can read.
func TestTokensAreNotLaidOpen(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	if said := w.fleetIn("fb_person_x", "login", "http://fleetboard.invalid").ends(6).err; !strings.HasPrefix(said, "Warning: ") {
		t.Errorf("login said %q", said)
	}
	if said := w.fleetIn(w.owner, "login", w.url).ends(0).err; said != "" {
		t.Errorf("on this machine it said %q", said)
	}
	if err := os.Chmod(filepath.Join(w.home, "config", "fleet", "config.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := w.fleet("doctor").ends(1).out; !strings.Contains(said, "others can read the tokens") {
		t.Errorf("the doctor said %s", said)
	}
	w.fleet("context", "use", "127.0.0.1").ok()
	if said := w.fleet("doctor").ok(); !strings.Contains(said, "for you alone") {
		t.Errorf("the doctor said %s", said)
	}
}

// TestLoginRefusesBadTokens: nothing is kept that the server does not know.
func TestLoginRefusesBadTokens(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	for in, code := range map[string]int{"": 2, "two words": 2, "fb_person_nonsense": 5} {
		w.fleetIn(in, "login", w.url).ends(code)
	}
	w.fleetIn("x", "login", "ftp://there").ends(2)
	w.fleetIn("x", "login", "http://127.0.0.1:1").ends(6)
	if _, err := os.Stat(filepath.Join(w.home, "config")); !os.IsNotExist(err) {
		t.Errorf("a refused log-in left a file: %v", err)
	}
}

// TestStoredTokensStayWithTheirServer: another server, also one that --server names by
// mistake, is never sent the token of a context.
func TestStoredTokensStayWithTheirServer(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	clear(w.env)
	w.fleetIn(w.owner, "login", w.url).ok()
	var sent []string
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		rw.WriteHeader(http.StatusTeapot)
	}))
	defer other.Close()
	if said := w.fleet("--server", other.URL, "version").ends(1).err; !strings.Contains(said, "418") {
		t.Errorf("it said %q", said)
	}
	for _, one := range sent {
		if one != "" {
			t.Errorf("the other server was sent %q", one)
		}
	}
	if len(sent) != 1 {
		t.Errorf("the other server was asked %d times", len(sent))
	}
}

// TestUsage: a sentence says what is wrong with a command line, with code 2.
func TestUsage(t *testing.T) {
	t.Parallel()
	w := newTerminal(t)
	for _, line := range []string{"nonsense", "version --nonsense", "context use", "context nonsense", "context use a b"} {
		r := w.fleet(strings.Fields(line)...).ends(2)
		if r.out != "" || !strings.HasPrefix(r.err, "fleet: ") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s printed %q and %q", line, r.out, r.err)
		}
	}
	if said := w.fleet("help", "exit-codes").ok(); !strings.Contains(said, "There is nothing to claim") {
		t.Errorf("exit-codes: %s", said)
	}
}
