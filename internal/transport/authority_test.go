package transport_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fleetboard/fleetboard/internal/transport"
)

// programOf connects a factory's own program with its credentials.
func programOf(t *testing.T, c transport.FactoryCredentials) (conn *nats.Conn, refused chan error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "factory.creds")
	if err := os.WriteFile(file, []byte(c.Credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	refused = make(chan error, 10)
	conn, err := nats.Connect(c.URLs[0], nats.UserCredentials(file),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn, refused
}

// A factory's own program hears of its offers and of nothing else, and cannot publish.
func TestCredentialsOfAFactory(t *testing.T) {
	for name, options := range map[string]func(t *testing.T) transport.NATSOptions{
		"embedded":                    func(t *testing.T) transport.NATSOptions { return embedded(t.TempDir()) },
		"cluster, key of the account": func(t *testing.T) transport.NATSOptions { return trusting(t, false) },
		"cluster, key that signs":     func(t *testing.T) transport.NATSOptions { return trusting(t, true) },
	} {
		t.Run(name, func(t *testing.T) { credentialsOf(t, options(t)) })
	}
}

func credentialsOf(t *testing.T, options transport.NATSOptions) {
	d := takesOffers(t, start(t, options).connects(), toldOnce)
	mine, other := anOffer(), anOffer()
	d.offers(anOffer()) // the stream is there
	c, err := d.Credentials(mine.Workspace, mine.Factory, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := d.Credentials(other.Workspace, other.Factory, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if c.Subject == foreign.Subject || len(c.URLs) != 1 || strings.Contains(c.URLs[0], "@") || time.Until(c.ExpiresAt) > time.Hour {
		t.Errorf("credentials %+v", c)
	}
	conn, refused := programOf(t, c)
	heard, err := conn.SubscribeSync(c.Subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	d.offers(other, mine)
	if _, err := heard.NextMsg(patience); err != nil {
		t.Fatalf("its own offer: %v", err)
	}
	for _, subject := range []string{foreign.Subject, "fleetboard.offer.>", ">", "fleetboard.wake.*", "_INBOX.>", "$JS.EVENT.>", "$SYS.>"} {
		if _, err := conn.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		violates(t, subject, refused)
	}
	for _, subject := range []string{c.Subject, foreign.Subject, "fleetboard.wake.x", "$JS.API.STREAM.NAMES", "$JS.ACK.x", "x"} {
		if err := conn.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		violates(t, subject, refused)
	}
	if n, _, err := heard.Pending(); n != 0 || err != nil {
		t.Errorf("%d more messages were heard, %v", n, err)
	}
	gone, err := d.Credentials(mine.Workspace, mine.Factory, -time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gone.creds")
	if err := os.WriteFile(file, []byte(gone.Credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	if conn, err := nats.Connect(gone.URLs[0], nats.UserCredentials(file)); err == nil {
		conn.Close()
		t.Error("credentials whose time is over are taken")
	}
}

func violates(t *testing.T, subject string, refused chan error) {
	t.Helper()
	select {
	case err := <-refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", subject, err)
		}
	case <-time.After(patience):
		t.Fatalf("%s is allowed", subject)
	}
}

// trusting is a broker with an operator and an account, and how a server connects to it. The server is
// given the account's key, or another one that signs for it.
func trusting(t *testing.T, signing bool) transport.NATSOptions {
	t.Helper()
	made := func(create func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public string, seed []byte) {
		t.Helper()
		key, err := create()
		if err != nil {
			t.Fatal(err)
		}
		if public, err = key.PublicKey(); err != nil {
			t.Fatal(err)
		}
		if seed, err = key.Seed(); err != nil {
			t.Fatal(err)
		}
		return key, public, seed
	}
	operator, operatorPublic, _ := made(nkeys.CreateOperator)
	account, accountPublic, accountSeed := made(nkeys.CreateAccount)
	signer, signerPublic, signerSeed := made(nkeys.CreateAccount)
	_, systemPublic, _ := made(nkeys.CreateAccount)
	_, userPublic, userSeed := made(nkeys.CreateUser)
	claims := jwt.NewAccountClaims(accountPublic)
	claims.SigningKeys.Add(signerPublic)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	o := keeping(t)
	accounts := &server.MemAccResolver{}
	o.TrustedKeys, o.AccountResolver, o.SystemAccount = []string{operatorPublic}, accounts, systemPublic
	for _, one := range []*jwt.AccountClaims{claims, jwt.NewAccountClaims(systemPublic)} {
		token, err := one.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		if err := accounts.Store(one.Subject, token); err != nil {
			t.Fatal(err)
		}
	}
	own := jwt.NewUserClaims(userPublic)
	by, seed := account, accountSeed
	if signing {
		by, seed, own.IssuerAccount = signer, signerSeed, accountPublic
	}
	token, err := own.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(token, userSeed)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	creds, keyFile := filepath.Join(dir, "fleetboard.creds"), filepath.Join(dir, "account.nk")
	for file, text := range map[string][]byte{creds: text, keyFile: seed} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return transport.NATSOptions{URL: broker(t, o).ClientURL(), Creds: creds, SigningKey: keyFile, Key: key(1)}
}
