package transport

import (
	"context"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// offerSubjects begins the subjects of offers: behind it come the name of the database and
	// that of the factory.
	offerSubjects = "fleetboard.offer."
	// offersRoom and offersAge bound what the broker keeps of a database's offers, in bytes and by
	// age. No offer stands longer than five minutes.
	offersRoom = 64 << 20
	offersAge  = 10 * time.Minute
	offerSize  = 4 << 10
	// replicas is on how many servers of a cluster offers are kept, where it has so many.
	replicas = 3
	// offersTaken is how many messages a server asks for at once, and offersWait for how long.
	offersTaken = 256
	offersWait  = 30 * time.Second
	// offersHeld bounds the messages that are delivered and neither acknowledged nor dead.
	offersHeld = 10_000
	// offerServers is the name of the consumer that all servers of a database share.
	offerServers = "servers"
	offerTimeout = 5 * time.Second
)

// Codes of JetStream for a cluster that has fewer servers than replicas are asked for.
const (
	codeNoPeers     jetstream.ErrorCode = 10005
	codeNoResources jetstream.ErrorCode = 10023
	codeNoCluster   jetstream.ErrorCode = 10074
)

// Offer is a job that is offered to a factory.
type Offer struct {
	Workspace ids.ID    `json:"workspace"`
	Job       ids.ID    `json:"job"`
	Version   int64     `json:"version"` // of the job
	Factory   ids.ID    `json:"factory"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Redelivery is how often an offer is delivered.
type Redelivery struct {
	// Every is after what time an offer that was not taken is delivered again.
	Every time.Duration
	// Times is how often at most; then it is dead.
	Times int
	// Known is for how long the same offer is not kept again.
	Known time.Duration
}

// defaultRedelivery tells a factory of an offer five times in 25 s. The broker remembers each for
// two minutes.
var defaultRedelivery = Redelivery{Every: 5 * time.Second, Times: 5, Known: 2 * time.Minute}

// Delivery is an offer that the broker has delivered.
type Delivery struct {
	Offer

	message jetstream.Msg
}

// Done says that the offer has ended: it is not delivered again.
func (d Delivery) Done() error { return d.message.Ack() }

// OfferReceiver takes what the broker says of offers. Its methods may be called from several
// goroutines.
type OfferReceiver interface {
	// Delivered takes an offer, each time that it is delivered to this process. It returns quickly.
	Delivered(d Delivery)
	// Dead takes an offer that was delivered as often as it may be, and that nobody has ended.
	Dead(ctx context.Context, o Offer, deliveries int) error
}

// Offers keeps offers in a stream of JetStream until they have ended, and delivers each of them to one
// of the servers of the database again and again.
type Offers struct {
	nats       *NATS
	redelivery Redelivery
	prefix     string // of the subjects
	stream     string
	seals      []byte // the key of which those of the factories are derived
}

// Offers returns the offers that travel over the same connection; the zero value is the usual
// redelivery.
func (n *NATS) Offers(r Redelivery) *Offers {
	if r == (Redelivery{}) {
		r = defaultRedelivery
	}
	name := strings.TrimPrefix(n.subject, subjects)
	return &Offers{nats: n, redelivery: r, prefix: offerSubjects + name + ".", stream: "fleetboard-offers-" + name,
		seals: vault.Derive(n.options.Key, "fleetboard offers v1", vault.KeySize)}
}

// factorySubject returns the subject of a factory, which tells nobody its name.
func (o *Offers) factorySubject(workspace, factory ids.ID) string {
	return o.prefix + o.name("subject", workspace.String(), factory.String())
}

// subjectSeal returns what encrypts the offers of one subject.
func (o *Offers) subjectSeal(subject string) (cipher.AEAD, error) {
	return chacha20poly1305.NewX(vault.Derive(o.seals, "seal "+subject, chacha20poly1305.KeySize))
}

// Run makes the stream where there is none, and receives until ctx ends. What fails is tried again
// for as long as it takes: offers are announced by wake-ups too.
func (o *Offers) Run(ctx context.Context, r OfferReceiver) error {
	select {
	case <-o.nats.connected:
	case <-ctx.Done():
		return nil
	}
	for failures := 0; ctx.Err() == nil; failures++ {
		if err := o.receive(ctx, r, func() { failures = 0 }); err != nil && ctx.Err() == nil {
			_ = signal.Sleep(ctx, max(minWait, signal.Backoff(backoffFirst, backoffLongest, failures)))
		}
	}
	return nil
}

// receive receives until something fails.
func (o *Offers) receive(ctx context.Context, r OfferReceiver, received func()) error {
	conn, js, err := o.jetStream()
	if err != nil {
		return err
	}
	consumer, err := o.prepare(ctx, js)
	if err != nil {
		return err
	}
	advisories, err := o.watchDead(ctx, conn, js, r)
	if err != nil {
		return err
	}
	defer func() { _ = advisories.Unsubscribe() }()
	for {
		err := o.take(ctx, consumer, r)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		received()
	}
}

// take receives some offers, or waits for a time in vain.
func (o *Offers) take(ctx context.Context, consumer jetstream.Consumer, r OfferReceiver) error {
	limited, cancel := context.WithTimeout(ctx, offersWait)
	defer cancel()
	batch, err := consumer.Fetch(offersTaken, jetstream.FetchContext(limited))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		if offer, ok := o.read(m.Subject(), m.Data()); ok {
			r.Delivered(Delivery{offer, m})
		} else {
			_ = m.Term() // nobody with the key has sent it
		}
	}
	if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) && limited.Err() == nil {
		return err
	}
	return nil
}

func (o *Offers) jetStream() (conn *nats.Conn, js jetstream.JetStream, err error) {
	o.nats.mu.Lock()
	conn = o.nats.conn
	o.nats.mu.Unlock()
	if conn == nil {
		return nil, nil, errNotConnected
	}
	js, err = jetstream.New(conn, jetstream.WithPublishAsyncTimeout(offerTimeout))
	return conn, js, err
}

// prepare makes the stream and its consumer, or brings them up to date.
func (o *Offers) prepare(ctx context.Context, js jetstream.JetStream) (jetstream.Consumer, error) {
	limited, cancel := context.WithTimeout(ctx, offerTimeout)
	defer cancel()
	stream, err := o.makeStream(limited, js)
	if err != nil {
		return nil, err
	}
	return stream.CreateOrUpdateConsumer(limited, jetstream.ConsumerConfig{
		Durable:       offerServers,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       o.redelivery.Every,
		MaxDeliver:    o.redelivery.Times,
		MaxAckPending: offersHeld,
	})
}

// makeStream makes the stream on as many servers as there are, at most replicas.
func (o *Offers) makeStream(ctx context.Context, js jetstream.JetStream) (stream jetstream.Stream, err error) {
	for n := replicas; n > 0; n-- {
		stream, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name:       o.stream,
			Subjects:   []string{o.prefix + "*"},
			Retention:  jetstream.WorkQueuePolicy,
			Storage:    jetstream.FileStorage,
			Discard:    jetstream.DiscardOld,
			MaxBytes:   offersRoom,
			MaxAge:     offersAge,
			MaxMsgSize: offerSize,
			Duplicates: o.redelivery.Known,
			Replicas:   n,
		})
		if refused := new(jetstream.APIError); !errors.As(err, &refused) ||
			refused.ErrorCode != codeNoPeers && refused.ErrorCode != codeNoResources && refused.ErrorCode != codeNoCluster {
			break
		}
	}
	return stream, err
}

// watchDead receives the broker's advisories of offers that it delivers no more. One of the servers
// gets each.
func (o *Offers) watchDead(ctx context.Context, conn *nats.Conn, js jetstream.JetStream, r OfferReceiver) (*nats.Subscription, error) {
	subject := "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + o.stream + "." + offerServers
	return conn.QueueSubscribe(subject, o.stream, func(m *nats.Msg) {
		var advisory struct {
			Sequence   uint64 `json:"stream_seq"`
			Deliveries int    `json:"deliveries"`
		}
		if err := json.Unmarshal(m.Data, &advisory); err == nil {
			limited, cancel := context.WithTimeout(ctx, offerTimeout)
			defer cancel()
			_ = o.bury(limited, js, advisory.Sequence, r) // it stays in the stream for a while, and is a hint
		}
	})
}

// bury reports an offer as dead and takes it out of the stream. An advisory that somebody forged is
// about nothing, or about an offer that has not been kept for as long as its deliveries take.
func (o *Offers) bury(ctx context.Context, js jetstream.JetStream, sequence uint64, r OfferReceiver) error {
	stream, err := js.Stream(ctx, o.stream)
	if err != nil {
		return err
	}
	m, err := stream.GetMsg(ctx, sequence)
	if err != nil {
		return err
	}
	offer, ok := o.read(m.Subject, m.Data)
	if !ok || time.Since(m.Time) < o.redelivery.Every*time.Duration(o.redelivery.Times-1) {
		return errForged
	}
	if err := r.Dead(ctx, offer, o.redelivery.Times); err != nil {
		return err
	}
	return stream.DeleteMsg(ctx, sequence)
}

var errForged = errors.New("the advisory is about no dead offer")

// Publish returns once the broker keeps the offers. One that it knows already is kept once.
func (o *Offers) Publish(ctx context.Context, list []Offer) error {
	_, js, err := o.jetStream()
	if err != nil {
		return err
	}
	sent := make([]jetstream.PubAckFuture, 0, len(list))
	for _, one := range list {
		m, err := o.message(one)
		if err != nil {
			return err
		}
		f, err := js.PublishMsgAsync(m, jetstream.WithMsgID(o.messageID(one)), jetstream.WithExpectStream(o.stream))
		if err != nil {
			return err
		}
		sent = append(sent, f)
	}
	for _, f := range sent {
		select {
		case <-f.Ok():
		case failed := <-f.Err():
			err = errors.Join(err, failed)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// messageID distinguishes an offer from those of other versions of the job and to other factories, and
// tells nobody which they are.
func (o *Offers) messageID(one Offer) string {
	return o.name("message", one.Job.String(), strconv.FormatInt(one.Version, 10), one.Factory.String())
}

// name derives a name from words that stay secret.
func (o *Offers) name(words ...string) string {
	return hex.EncodeToString(vault.Derive(o.seals, strings.Join(words, " "), nameSize))
}

func (o *Offers) message(one Offer) (*nats.Msg, error) {
	text, err := json.Marshal(one)
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(o.factorySubject(one.Workspace, one.Factory))
	seal, err := o.subjectSeal(m.Subject)
	if err != nil {
		return nil, err
	}
	m.Data = sealed(seal, m.Subject, string(text))
	return m, nil
}

// read is the reverse of message; false for what nobody with the key has sent.
func (o *Offers) read(subject string, data []byte) (one Offer, ok bool) {
	seal, err := o.subjectSeal(subject)
	if err != nil {
		return one, false
	}
	text, ok := open(seal, subject, data)
	return one, ok && json.Unmarshal([]byte(text), &one) == nil
}
