package notifications

import (
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// pushTTL is how long a push service keeps a message for a browser that is away.
const pushTTL = 24 * time.Hour

// pushKeys are what a browser knows the server by.
type pushKeys struct{ private, public string }

// newPushKeys derives them from the server's key. Another key makes browsers subscribe again.
func newPushKeys(key []byte) pushKeys {
	for n := 0; ; n++ {
		raw := vault.Derive(key, fmt.Sprintf("fleetboard web push v1 %d", n), 32)
		// One number in 2^32 is none of the curve.
		if private, err := ecdh.P256().NewPrivateKey(raw); err == nil {
			return pushKeys{base64.RawURLEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes())}
		}
	}
}

// subject is whom a push service may ask about what the server sends.
func subject(public *url.URL) string {
	if public.Scheme == "https" {
		return public.String()
	}
	return "fleetboard@" + public.Hostname()
}

// pusher sends to push services.
type pusher struct {
	client  *http.Client
	keys    pushKeys
	subject string
}

// Subscription is a browser's, as its PushSubscription says it.
type Subscription struct {
	Endpoint string           `json:"endpoint"`
	Keys     SubscriptionKeys `json:"keys"`
	// Browser names it to its person.
	Browser string `json:"browser,omitempty"`
}

// SubscriptionKeys are what messages to a browser are encrypted with, in base64url.
type SubscriptionKeys struct {
	P256dh string `json:"p256dh"`
	Auth   string `json:"auth"`
}

func (s Subscription) check() error {
	if why := address.CheckForm(s.Endpoint, "https"); why != "" {
		return invalid("endpoint", why)
	}
	raw, err := base64.RawURLEncoding.DecodeString(s.Keys.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(raw)
	}
	if err != nil {
		return invalid("keys.p256dh", "It must be a point of P-256 in base64url.")
	}
	if raw, err = base64.RawURLEncoding.DecodeString(s.Keys.Auth); err != nil || len(raw) != 16 {
		return invalid("keys.auth", "It must be 16 bytes in base64url.")
	}
	return nil
}

// pushMessage is what the service worker shows.
type pushMessage struct {
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"url"`
	Tag    string `json:"tag"`
	Silent bool   `json:"silent"` // it replaces another one quietly
}

func (s *Service) pushMessage(p parcel) pushMessage {
	first := p.items[0]
	m := pushMessage{Title: p.subject(), URL: s.letter(p).NeedsURL, Tag: "fleetboard-digest"}
	if len(p.items) == 1 {
		m.URL, m.Tag, m.Silent = first.url, tag(p.space, first.Decision), first.closed || first.sent != nil
		m.Body = first.detail()
		return m
	}
	for n, i := range p.items {
		if n == 4 {
			m.Body += "…"
			break
		}
		m.Body += oneLine(i.line(), 80) + "\n"
	}
	return m
}

// tag is the name by which a message replaces an earlier one about the same decision.
func tag(workspace ids.ID, decision string) string {
	sum := sha256.Sum256([]byte(workspace.String() + " " + decision))
	return "fb-" + hex.EncodeToString(sum[:12])
}

// browser is a subscription as it is stored.
type browser struct {
	id        ids.ID
	sub       Subscription
	serverKey string
	unread    bool // sealed by a key that this server has not
}

func (s *Service) sendPush(ctx context.Context, list []parcel, done func(parcel, error)) {
	each(list, func(p parcel) { done(p, s.pushTo(ctx, p)) })
}

// each calls fn for all parcels, some at a time.
func each(list []parcel, fn func(parcel)) {
	slots := make(chan struct{}, senders)
	var all sync.WaitGroup
	for _, p := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			fn(p)
		})
	}
	all.Wait()
}

var errNoBrowser = &refusal{text: "No browser of yours is subscribed. Switch it on in the browser that is to show messages.", final: true}

// pushTo sends a parcel to all browsers of its person. It has arrived where one took it.
func (s *Service) pushTo(ctx context.Context, p parcel) error {
	list, err := s.browsers(ctx, p.space, p.to.account)
	if err != nil {
		return err
	}
	message := s.pushMessage(p)
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	taken, failed := false, error(errNoBrowser)
	for _, b := range list {
		if b.unread || b.serverKey != s.pusher.keys.public {
			failed = &refusal{text: "The server's key has changed: switch the browser on again.", final: true}
			continue
		}
		err := s.pusher.push(ctx, b.sub, body, message)
		var gone *goneError
		if errors.As(err, &gone) {
			err = errors.Join(s.forgetBrowser(ctx, p, b.id), errNoBrowser)
		}
		if err == nil {
			taken = true
		} else if errors.Is(failed, errNoBrowser) {
			failed = err
		}
	}
	if taken {
		return nil
	}
	return failed
}

func (s *Service) forgetBrowser(ctx context.Context, p parcel, id ids.ID) error {
	return s.db.In(ctx, db.Workspace(p.space), func(tx db.Tx) error {
		_, err := q.PushSubscriptionDelete(ctx, tx, p.space, p.to.account, id)
		return err
	})
}

// goneError is the answer of a push service that does not know a browser any more.
type goneError struct{ status int }

func (e *goneError) Error() string { return fmt.Sprint("the push service answered ", e.status) }

func (p pusher) push(ctx context.Context, to Subscription, body []byte, m pushMessage) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	urgency := webpush.UrgencyHigh
	if m.Silent {
		urgency = webpush.UrgencyLow
	}
	res, err := webpush.SendNotificationWithContext(ctx, body, &webpush.Subscription{Endpoint: to.Endpoint,
		Keys: webpush.Keys{P256dh: to.Keys.P256dh, Auth: to.Keys.Auth}}, &webpush.Options{HTTPClient: p.client, Subscriber: p.subject,
		Topic: m.Tag, TTL: int(pushTTL.Seconds()), Urgency: urgency, VAPIDPublicKey: p.keys.public, VAPIDPrivateKey: p.keys.private})
	if err == nil && (res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone) {
		_ = res.Body.Close()
		return &goneError{res.StatusCode}
	}
	return answered("The push service of the browser", res, err)
}
