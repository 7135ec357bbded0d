package notifications_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// mailbox is a real SMTP server in a process of its own.
type mailbox struct {
	t     *testing.T
	lines *bufio.Scanner
	port  int
	roots *x509.CertPool
}

// taken is a mail as the server took it.
type taken struct {
	From, Data, Peer string
	To               []string
	TLS, Login       bool
	*mail.Message
}

// python returns a Python that has aiosmtpd.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import aiosmtpd").Run() == nil {
			return name
		}
	}
	t.Fatal("no real SMTP server can be had here: tools/ensure-test-deps.sh installs python3-aiosmtpd")
	return ""
}

func newMailbox(t *testing.T, more ...string) *mailbox {
	t.Helper()
	program := python(t)
	certificate, key, roots := makeCertificate(t)
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"testdata/smtpd.py", fmt.Sprint(port), certificate, key, "fleet", "s3cret/+"}, more...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	m := &mailbox{t: t, lines: bufio.NewScanner(out), port: port, roots: roots}
	m.lines.Buffer(nil, 1<<20)
	if !m.lines.Scan() || !strings.Contains(m.lines.Text(), "ready") {
		t.Fatalf("the SMTP server says %q, %v", m.lines.Text(), m.lines.Err())
	}
	return m
}

// next waits for a mail.
func (m *mailbox) next() taken {
	m.t.Helper()
	if !m.lines.Scan() {
		m.t.Fatalf("the SMTP server has ended: %v", m.lines.Err())
	}
	var got taken
	if err := json.Unmarshal(m.lines.Bytes(), &got); err != nil {
		m.t.Fatal(err)
	}
	var err error
	if got.Message, err = mail.ReadMessage(strings.NewReader(got.Data)); err != nil {
		m.t.Fatalf("%v: %s", err, got.Data)
	}
	return got
}

// subject returns the subject as people read it.
func (g taken) subject(t *testing.T) string {
	t.Helper()
	text, err := new(mime.WordDecoder).DecodeHeader(g.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// parts returns the text and the page.
func (g taken) parts(t *testing.T) (text, html string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(g.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(g.Body, params["boundary"])
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return text, html
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
			html = string(raw)
		} else {
			text = string(raw)
		}
	}
}

func makeCertificate(t *testing.T) (certificate, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	return certificate, key, roots
}

// mailed is a workspace whose server sends through the mailbox.
func mailed(t *testing.T, m *mailbox, scheme string) *space {
	t.Helper()
	server, err := notifications.ParseMailServer(fmt.Sprintf("%s://fleet:s3cret%%2F%%2B@127.0.0.1:%d?from=fleet@example.com", scheme, m.port))
	if err != nil {
		t.Fatal(err)
	}
	server.Trust(m.roots)
	return newSpace(t, func(o *app.Options) { o.Mail = server })
}

// reader is a member who is told by e-mail.
func (s *space) reader(name string) tenancy.Principal {
	s.T.Helper()
	who, yes := s.member(tenancy.RoleOwner, name), true
	s.save(who, notifications.Change{Channels: &notifications.ViaChange{Email: &yes}})
	return who
}

// A real server takes the mail, with STARTTLS and a login; what becomes of it is told in the same thread.
func TestARealMailServerTakesTheMail(t *testing.T) {
	box := newMailbox(t)
	s := mailed(t, box, "smtp")
	ada := s.reader("Ada <script>\r\nBcc: eve@example.com")
	agent := s.Agent("claude-1")
	s.Job("Alpha")
	held := s.Claim(agent)
	question := "Which schéma?\r\nBcc: eve@example.com\r\n\r\n<script>alert(1)</script> [x](http://evil)"
	if _, err := s.Dispatch.Ask(s.Ctx, agent, dispatchtest.Ref(held), report.Question{Text: question}); err != nil {
		t.Fatal(err)
	}
	s.round()
	first := box.next()
	if !first.TLS || !first.Login || first.From != "fleet@example.com" || len(first.To) != 1 || first.To[0] != s.email(ada) {
		t.Errorf("it was taken as %+v", first)
	}
	if got, want := first.subject(t), held.Key+" asks: Which schéma? Bcc: eve@example.com <script>alert(1)</script> [x](http://evil)"; got != want {
		t.Errorf("the subject is %q, want %q", got, want)
	}
	if first.Header.Get("Bcc") != "" || first.Header.Get("Auto-Submitted") != "auto-generated" ||
		first.Header.Get("List-Unsubscribe") != "<https://fleet.example.com/settings/notifications>" {
		t.Errorf("the headers are %v", first.Header)
	}
	text, html := first.parts(t)
	if link := "https://fleet.example.com/jobs/" + held.Key; !strings.Contains(text, link) || !strings.Contains(html, `href="`+link+`"`) {
		t.Errorf("the link is not there:\n%s\n%s", text, html)
	}
	if strings.Contains(html, "<script>") || strings.Contains(html, `href="http://evil`) || !strings.Contains(html, "&lt;script&gt;") {
		t.Errorf("what others wrote is not escaped:\n%s", html)
	}
	s.Act(s.Get(held), jobs.ByCancel)
	s.round()
	second := box.next()
	if id := first.Header.Get("Message-ID"); id == "" || second.Header.Get("References") != id || second.Header.Get("Message-ID") == id {
		t.Errorf("the thread: %q, then %v", id, second.Header)
	}
	if got := second.subject(t); !strings.HasPrefix(got, "Re: "+held.Key+" is ") {
		t.Errorf("the second subject is %q", got)
	}
}

// Many mails take one connection; one that the server refuses for good does not stop the others.
func TestManyMailsTakeOneConnection(t *testing.T) {
	box := newMailbox(t)
	s := mailed(t, box, "smtp")
	bad := s.reader("Bad")
	dbfactory.Exec(t, s.DB, `UPDATE account SET email = 'unknown@example.com' WHERE id = $1`, bad.Account)
	for _, name := range []string{"Ada", "Bob", "Cy"} {
		s.reader(name)
	}
	s.handIn("Alpha", "9be04d1f00")
	s.round()
	peers := map[string]bool{}
	for range 3 {
		peers[box.next().Peer] = true
	}
	if len(peers) != 1 {
		t.Errorf("%d connections", len(peers))
	}
	if all, err := s.notify.Overview(s.Ctx, bad); err != nil || len(all.Channels) != 1 || all.Channels[0].Error != "The mail server did not take it." {
		t.Errorf("the page says %+v, %v", all.Channels, err)
	}
}

func TestTLSFromTheStart(t *testing.T) {
	box := newMailbox(t, "tls")
	s := mailed(t, box, "smtps")
	ada := s.reader("Ada")
	list, err := s.notify.Test(s.Ctx, ada)
	if err != nil || len(list) != 1 || list[0].Error != "" {
		t.Fatalf("%+v, %v", list, err)
	}
	if got := box.next(); !got.TLS || got.subject(t) != "A test message of Fleetboard" {
		t.Errorf("it is %+v", got)
	}
}

// A server that nobody vouches for, or a wrong password, gets nothing, and the page says it without internals.
func TestAMailServerThatIsNotTrusted(t *testing.T) {
	box := newMailbox(t)
	for name, spoil := range map[string]func(*notifications.MailServer){
		"another certificate": func(m *notifications.MailServer) { m.Trust(x509.NewCertPool()) },
	} {
		t.Run(name, func(t *testing.T) {
			server, err := notifications.ParseMailServer(fmt.Sprintf("smtp://fleet:s3cret%%2F%%2B@127.0.0.1:%d?from=fleet@example.com", box.port))
			if err != nil {
				t.Fatal(err)
			}
			spoil(server)
			s := newSpace(t, func(o *app.Options) { o.Mail = server })
			list, err := s.notify.Test(s.Ctx, s.reader("Ada"))
			if err != nil || len(list) != 1 || list[0].Error != "The mail server could not be reached, or refused the login." {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}

func TestAddressesOfMailServers(t *testing.T) {
	for text, want := range map[string]string{
		"smtp://mail.example.com?from=a@b.c":                          "",
		"smtps://u:p@mail.example.com:465?from=Fleet+%3Ca@b.c%3E":     "",
		"smtp://localhost:25?from=a@b.c&tls=none":                     "",
		"smtp://u:p@localhost:25?from=a@b.c&tls=none":                 "tls=none",
		"smtp://mail.example.com":                                     "from=",
		"smtp://mail.example.com?from=a@b.c&tls=maybe":                "tls can only be none",
		"smtp://mail.example.com?from=a@b.c&insecure=1":               "insecure",
		"http://mail.example.com?from=a@b.c":                          "must be an address",
		"smtp://mail.example.com:99999?from=a@b.c":                    "port",
		"smtp://:s3cret@?from=a@b.c":                                  "must be an address",
		"smtp://mail.example.com?from=a@b.c%0d%0aBcc:%20eve@evil.com": "from=",
	} {
		_, err := notifications.ParseMailServer(text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", text, err, want)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("%s: the error tells the password: %v", text, err)
		}
	}
}
