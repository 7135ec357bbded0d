package transport

import (
	"errors"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// seedSize is the size in bytes of what a pair of NATS's keys is made of.
const seedSize = 32

// signer makes users of an account.
type signer struct {
	key     nkeys.KeyPair
	account string // the account's public key; key may be another one that signs for it
}

// user returns the claims of a user who may subscribe to and publish what is named; nothing where
// that is empty. With the zero time they are for ever.
func (s *signer) user(name string, key nkeys.KeyPair, subscribe, publish []string, expires time.Time) (token string, err error) {
	public, err := key.PublicKey()
	if err != nil {
		return "", err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = name
	claims.Sub.Allow.Add(subscribe...)
	if claims.Pub.Allow.Add(publish...); len(publish) == 0 {
		claims.Pub.Deny.Add(">")
	}
	if !expires.IsZero() {
		claims.Expires = expires.Unix()
	}
	if signing, err := s.key.PublicKey(); err != nil || signing != s.account {
		claims.IssuerAccount = s.account
	}
	return claims.Encode(s.key)
}

// readSigner reads the seed of an account, or of a key that signs for it, from a file. The account is
// that of the server's own credentials.
func readSigner(seedFile, credsFile string) (*signer, error) {
	seed, err := os.ReadFile(seedFile)
	if err != nil {
		return nil, err
	}
	key, err := nkeys.ParseDecoratedNKey(seed)
	if err != nil {
		return nil, errors.New("the file has no seed of NATS")
	}
	creds, err := os.ReadFile(credsFile)
	if err != nil {
		return nil, err
	}
	token, err := jwt.ParseDecoratedJWT(creds)
	if err != nil {
		return nil, err
	}
	own, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return nil, err
	}
	s := &signer{key: key, account: own.IssuerAccount}
	if s.account == "" {
		s.account = own.Issuer
	}
	if public, err := key.PublicKey(); err != nil || !nkeys.IsValidPublicAccountKey(public) {
		return nil, errors.New("the file has no key of an account")
	}
	return s, nil
}

// authority is who an embedded server trusts: an operator, an account and a user whose keys are made of
// the secret key.
type authority struct {
	signer

	operator nkeys.KeyPair
	system   nkeys.KeyPair // the account of the server itself, without users
	own      nkeys.KeyPair // of the processes that share the server
	token    string        // of own
}

func newAuthority(key []byte) (*authority, error) {
	a := &authority{}
	for _, one := range []struct {
		pair *nkeys.KeyPair
		kind nkeys.PrefixByte
		use  string
	}{
		{&a.operator, nkeys.PrefixByteOperator, "operator"}, {&a.system, nkeys.PrefixByteAccount, "system"},
		{&a.key, nkeys.PrefixByteAccount, "account"}, {&a.own, nkeys.PrefixByteUser, "user"},
	} {
		seed, err := nkeys.EncodeSeed(one.kind, vault.Derive(key, "fleetboard embedded nats v2 "+one.use, seedSize))
		if err != nil {
			return nil, err
		}
		if *one.pair, err = nkeys.FromSeed(seed); err != nil {
			return nil, err
		}
	}
	var err error
	if a.account, err = a.key.PublicKey(); err != nil {
		return nil, err
	}
	a.token, err = a.user("fleetboard", a.own, []string{">"}, []string{">"}, time.Time{})
	return a, err
}

// trust has a server take the users of the account and nobody else.
func (a *authority) trust(o *server.Options) error {
	operator, err := a.operator.PublicKey()
	if err != nil {
		return err
	}
	if o.SystemAccount, err = a.system.PublicKey(); err != nil {
		return err
	}
	system, own := jwt.NewAccountClaims(o.SystemAccount), jwt.NewAccountClaims(a.account)
	own.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit,
		Consumer: jwt.NoLimit, MaxAckPending: jwt.NoLimit}
	accounts := &server.MemAccResolver{}
	o.TrustedKeys, o.AccountResolver = []string{operator}, accounts
	for _, claims := range []*jwt.AccountClaims{system, own} {
		token, err := claims.Encode(a.operator)
		if err != nil {
			return err
		}
		if err := accounts.Store(claims.Subject, token); err != nil {
			return err
		}
	}
	return nil
}

// credentials returns what the processes that share the server connect with.
func (a *authority) credentials() nats.Option {
	return nats.UserJWT(func() (string, error) { return a.token, nil }, a.own.Sign)
}

// FactoryCredentials let a factory's own program hear that jobs are offered to the factory, and do
// nothing else.
type FactoryCredentials struct {
	// URLs are the addresses of NATS's servers.
	URLs []string `json:"urls"`
	// Subject is the only one that the program may subscribe to.
	Subject string `json:"subject"`
	// Credentials is the text of a .creds file: a user's JWT and seed.
	Credentials string    `json:"credentials"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// ErrNoCredentials is for a broker for which the server was not given a key that signs users.
var ErrNoCredentials = errors.New("there is no key that signs credentials of factories")

// Credentials makes a user who may subscribe to the subject of one factory for a time.
func (o *Offers) Credentials(workspace, factory ids.ID, lasts time.Duration) (c FactoryCredentials, err error) {
	s := o.nats.signer
	if s == nil {
		return c, ErrNoCredentials
	}
	if c.URLs, err = o.nats.addresses(); err != nil {
		return c, err
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		return c, err
	}
	c.Subject, c.ExpiresAt = o.factorySubject(workspace, factory), time.Now().Add(lasts).UTC().Truncate(time.Second)
	token, err := s.user("factory", key, []string{c.Subject}, nil, c.ExpiresAt)
	if err != nil {
		return c, err
	}
	seed, err := key.Seed()
	if err != nil {
		return c, err
	}
	text, err := jwt.FormatUserConfig(token, seed)
	c.Credentials = string(text)
	return c, err
}

// addresses returns where programs beside the server reach the broker, without what it connects with
// itself.
func (n *NATS) addresses() ([]string, error) {
	if e := n.options.Embedded; e != nil {
		address, err := e.address()
		return []string{"nats://" + address}, err
	}
	var list []string
	for one := range strings.SplitSeq(n.options.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return nil, errors.New("an address of NATS cannot be read")
		}
		u.User = nil
		list = append(list, u.String())
	}
	return list, nil
}
