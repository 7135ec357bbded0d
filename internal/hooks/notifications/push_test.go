package notifications_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// browser is a browser and its push service, which know nothing but the standards (RFC 8291, 8188, 8292).
type browser struct {
	t       *testing.T
	service *httptest.Server
	private *ecdh.PrivateKey
	auth    []byte

	mu     sync.Mutex
	status int
	shown  []pushed
}

// pushed is what a browser showed.
type pushed struct {
	Title, Body, URL, Tag string
	Silent                bool
	header                http.Header
}

func newBrowser(t *testing.T, serverKey string) *browser {
	t.Helper()
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, private: private, auth: make([]byte, 16), status: http.StatusCreated}
	_, _ = rand.Read(b.auth)
	b.service = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.status == http.StatusCreated {
			b.verify(r.Header.Get("Authorization"), serverKey)
			p := pushed{header: r.Header}
			if err := json.Unmarshal(b.decrypt(body), &p); err != nil {
				t.Error(err)
			}
			b.shown = append(b.shown, p)
		}
		w.WriteHeader(b.status)
	}))
	t.Cleanup(b.service.Close)
	return b
}

func (b *browser) got() []pushed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]pushed{}, b.shown...)
}

func (b *browser) answer(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = status
}

func (b *browser) subscription() notifications.Subscription {
	return notifications.Subscription{Endpoint: b.service.URL + "/push/secret", Browser: "Firefox",
		Keys: notifications.SubscriptionKeys{P256dh: base64.RawURLEncoding.EncodeToString(b.private.PublicKey().Bytes()),
			Auth: base64.RawURLEncoding.EncodeToString(b.auth)}}
}

// decrypt reads a message as RFC 8291 says, with the standard library alone.
func (b *browser) decrypt(body []byte) []byte {
	must := func(err error) {
		if err != nil {
			b.t.Error(err)
		}
	}
	salt, size, keyLength := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	senderRaw, sealed := body[21:21+keyLength], body[21+keyLength:]
	if uint32(len(sealed)) > size {
		b.t.Errorf("%d bytes in a record of %d", len(sealed), size)
	}
	sender, err := ecdh.P256().NewPublicKey(senderRaw)
	must(err)
	shared, err := b.private.ECDH(sender)
	must(err)
	info := "WebPush: info\x00" + string(b.private.PublicKey().Bytes()) + string(senderRaw)
	ikm, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	must(err)
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	must(err)
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	must(err)
	block, err := aes.NewCipher(key)
	must(err)
	gcm, err := cipher.NewGCM(block)
	must(err)
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	must(err)
	return []byte(strings.TrimSuffix(strings.TrimRight(string(plain), "\x00"), "\x02"))
}

// verify checks the token of RFC 8292: signed by the key that the browser subscribed with, for this service.
func (b *browser) verify(header, serverKey string) {
	token, key, found := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !found || key != serverKey {
		b.t.Errorf("the key is %q, want %q", key, serverKey)
		return
	}
	parts := strings.Split(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || len(parts) != 3 || len(raw) != 65 {
		b.t.Errorf("the token is %q, %v", token, err)
		return
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil || len(signature) != 64 || !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		b.t.Error("the signature is wrong")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	said, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if err := json.Unmarshal(said, &claims); err != nil {
		b.t.Error(err)
	}
	if left := time.Until(time.Unix(claims.Exp, 0)); claims.Aud != b.service.URL || left <= 0 || left > 24*time.Hour || claims.Sub != "https://fleet.example.com" {
		b.t.Errorf("the claims are %+v", claims)
	}
}

// pushedTo is a member with a browser.
func (s *space) pushedTo(b *browser, name string) tenancy.Principal {
	s.T.Helper()
	who, yes := s.member(tenancy.RoleOwner, name), true
	s.save(who, notifications.Change{Channels: &notifications.ViaChange{Browser: &yes}})
	if _, err := s.notify.Subscribe(s.Ctx, who, b.subscription()); err != nil {
		s.T.Fatal(err)
	}
	return who
}

// A push is encrypted for the browser and signed by the server; what becomes of a decision takes its place quietly.
func TestAPushIsReadByTheBrowserAlone(t *testing.T) {
	s := newSpace(t)
	b := newBrowser(t, s.notify.PushKey())
	s.notify.TrustPush(b.service.Client())
	s.pushedTo(b, "Ada")
	j := s.handIn("Alpha ünï", "9be04d1f00")
	for range 3 {
		s.round()
	}
	got := b.got()
	if len(got) != 1 || got[0].Title != "Review "+j.Key+": Alpha ünï" || got[0].Silent || !strings.Contains(got[0].URL, "/review?job="+j.Key+"&version=") {
		t.Fatalf("it shows %+v", got)
	}
	if got[0].header.Get("TTL") != "86400" || got[0].header.Get("Urgency") != "high" || len(got[0].header.Get("Topic")) > 32 {
		t.Errorf("the headers are %v", got[0].header)
	}
	s.Act(j, jobs.ByApprove)
	s.round()
	if got = b.got(); len(got) != 2 || got[1].Tag != got[0].Tag || !got[1].Silent || !strings.HasPrefix(got[1].Title, j.Key+" is approved now, by ") {
		t.Errorf("then it shows %+v", got[len(got)-1])
	}
}

// A browser that its push service does not know any more is forgotten; other failures keep it.
func TestABrowserThatIsGoneIsForgotten(t *testing.T) {
	s := newSpace(t)
	b := newBrowser(t, s.notify.PushKey())
	s.notify.TrustPush(b.service.Client())
	ada := s.pushedTo(b, "Ada")
	for status, want := range map[int]int{http.StatusTooManyRequests: 1, http.StatusInternalServerError: 1, http.StatusForbidden: 1} {
		b.answer(status)
		if list, err := s.notify.Test(s.Ctx, ada); err != nil || list[0].Error == "" {
			t.Errorf("%d: %+v, %v", status, list, err)
		}
		if n := s.count(`SELECT count(*) FROM push_subscription`); n != want {
			t.Errorf("%d: %d browsers", status, n)
		}
	}
	b.answer(http.StatusGone)
	if list, err := s.notify.Test(s.Ctx, ada); err != nil || !strings.Contains(list[0].Error, "No browser of yours") {
		t.Errorf("%+v, %v", list, err)
	}
	if n := s.count(`SELECT count(*) FROM push_subscription`); n != 0 {
		t.Errorf("%d browsers are left", n)
	}
}

// The endpoint is an address of a stranger: private ones are refused, and it is stored sealed.
func TestSubscriptionsAreChecked(t *testing.T) {
	s := newSpace(t)
	b := newBrowser(t, s.notify.PushKey())
	ada := s.pushedTo(b, "Ada")
	for field, change := range map[string]func(*notifications.Subscription){
		"endpoint":    func(n *notifications.Subscription) { n.Endpoint = "http://push.example.com/x" },
		"keys.p256dh": func(n *notifications.Subscription) { n.Keys.P256dh = n.Keys.Auth },
		"keys.auth":   func(n *notifications.Subscription) { n.Keys.Auth = "" },
	} {
		sub := b.subscription()
		change(&sub)
		if _, err := s.notify.Subscribe(s.Ctx, ada, sub); fault.From(err).Fields[field] == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	if n := s.count(`SELECT count(*) FROM push_subscription WHERE position(convert_to('push/secret', 'UTF8') IN sealed) > 0`); n != 0 {
		t.Error("the address is stored as it is")
	}
	for range 2 * notifications.MaxBrowsers {
		sub := b.subscription()
		sub.Endpoint += rand.Text()
		if _, err := s.notify.Subscribe(s.Ctx, ada, sub); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.count(`SELECT count(*) FROM push_subscription`); n != notifications.MaxBrowsers {
		t.Errorf("%d browsers", n)
	}
}

// A push service in a private network that the operator has not allowed is never connected to.
func TestPushServicesPassTheGuard(t *testing.T) {
	s := newSpace(t, func(o *app.Options) { o.Webhooks.Allow = nil })
	b := newBrowser(t, s.notify.PushKey())
	eve := s.pushedTo(b, "Eve")
	if list, err := s.notify.Test(s.Ctx, eve); err != nil || !strings.Contains(list[0].Error, "private network") || len(b.got()) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
