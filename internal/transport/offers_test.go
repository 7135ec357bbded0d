package transport_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// deadSoon tells of an offer three times, soon one after the other.
var deadSoon = transport.Redelivery{Every: 100 * time.Millisecond, Times: 3, Known: time.Minute}

// repeated tells of an offer soon, and for as long as a test lasts.
var repeated = transport.Redelivery{Every: 100 * time.Millisecond, Times: 100_000, Known: time.Minute}

// toldOnce does not tell of an offer again while a test lasts.
var toldOnce = transport.Redelivery{Every: time.Hour, Times: 5, Known: time.Minute}

// desk is a server that takes offers.
type desk struct {
	*node
	*transport.Offers

	delivered chan transport.Delivery
	dead      chan transport.Offer
}

func (d *desk) Delivered(one transport.Delivery) { d.delivered <- one }

func (d *desk) Dead(_ context.Context, one transport.Offer, deliveries int) error {
	if deliveries != deadSoon.Times {
		d.t.Errorf("it was delivered %d times", deliveries)
	}
	d.dead <- one
	return nil
}

// takesOffers runs the offers of a node until the test ends.
func takesOffers(t *testing.T, n *node, r transport.Redelivery) *desk {
	t.Helper()
	d := &desk{n, n.Offers(r), make(chan transport.Delivery, 1000), make(chan transport.Offer, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, d) }()
	stop := n.stop
	n.stop = func() {
		cancel()
		if ended != nil {
			if err := <-ended; err != nil {
				t.Errorf("Run returned %v", err)
			}
			ended = nil
		}
		stop()
	}
	t.Cleanup(n.stop)
	return d
}

func anOffer() transport.Offer {
	return transport.Offer{Workspace: ids.New(), Job: ids.New(), Version: 3, Factory: ids.New(), ExpiresAt: time.Now().Add(time.Minute).UTC().Round(0)}
}

// offers publishes, again and again until the stream is there.
func (d *desk) offers(list ...transport.Offer) {
	d.t.Helper()
	end := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(d.t.Context(), patience)
		err := d.Publish(ctx, list)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("publish: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// gets waits for the next delivery at one of the servers and compares it.
func gets(t *testing.T, want transport.Offer, desks ...*desk) transport.Delivery {
	t.Helper()
	deadline := time.After(patience)
	for {
		for _, d := range desks {
			select {
			case got := <-d.delivered:
				if diff := cmp.Diff(want, got.Offer); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
				return got
			case <-deadline:
				t.Fatal("nothing was delivered")
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it is not so", what)
		}
	}
}

// stream returns what a broker keeps of offers.
func stream(t *testing.T, url string, options ...nats.Option) *jetstream.StreamInfo {
	t.Helper()
	conn, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for info := range js.ListStreams(t.Context()).Info() {
		if strings.HasPrefix(info.Config.Name, "fleetboard-offers-") {
			return info
		}
	}
	return &jetstream.StreamInfo{}
}

func keeping(t *testing.T) server.Options {
	return server.Options{JetStream: true, StoreDir: t.TempDir()}
}

func at(b *server.Server) transport.NATSOptions {
	return transport.NATSOptions{URL: b.ClientURL(), Key: key(1)}
}

// An offer is delivered to one of the servers, and again until one of them says that it has ended.
func TestAnOfferIsDeliveredUntilItHasEnded(t *testing.T) {
	b := broker(t, keeping(t))
	one, two := takesOffers(t, start(t, at(b)).connects(), repeated), takesOffers(t, start(t, at(b)).connects(), repeated)
	offer := anOffer()
	one.offers(offer)
	first := gets(t, offer, one, two)
	second := gets(t, offer, one, two)
	if err := second.Done(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the broker keeps nothing", func() bool { return stream(t, b.ClientURL()).State.Msgs == 0 })
	if err := first.Done(); err != nil {
		t.Errorf("done again: %v", err)
	}
	select {
	case o := <-one.dead:
		t.Errorf("%+v is dead", o)
	case o := <-two.dead:
		t.Errorf("%+v is dead", o)
	default:
	}
}

// An offer that nobody ends is dead after its last delivery, once, and is kept no longer.
func TestAnOfferThatNobodyTakesIsDead(t *testing.T) {
	b := broker(t, keeping(t))
	one, two := takesOffers(t, start(t, at(b)).connects(), deadSoon), takesOffers(t, start(t, at(b)).connects(), deadSoon)
	offer := anOffer()
	one.offers(offer)
	for range deadSoon.Times {
		gets(t, offer, one, two)
	}
	select {
	case got := <-one.dead:
		if diff := cmp.Diff(offer, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	case got := <-two.dead:
		if diff := cmp.Diff(offer, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
	waitFor(t, "the broker keeps nothing", func() bool { return stream(t, b.ClientURL()).State.Msgs == 0 })
}

// Within the time in which the broker knows messages again, the same offer is kept once, however many
// servers publish it; the job queued anew, and the same one offered to another factory, come through.
func TestAJobThatIsQueuedAgainIsOfferedAgain(t *testing.T) {
	d := takesOffers(t, start(t, embedded(t.TempDir())).connects(), toldOnce)
	first := anOffer()
	d.offers(first, first)
	gets(t, first, d)
	d.offers(first)
	again, elsewhere := first, first
	again.Version++
	elsewhere.Factory = ids.New()
	d.offers(again)
	gets(t, again, d)
	d.offers(elsewhere)
	gets(t, elsewhere, d)
}

// The next process of a data directory has what the one before kept.
func TestOffersOutliveTheProcessWithTheServer(t *testing.T) {
	dir := t.TempDir()
	one := takesOffers(t, start(t, embedded(dir)).connects(), repeated)
	offer := anOffer()
	one.offers(offer)
	gets(t, offer, one)
	two := takesOffers(t, start(t, embedded(dir)).connects(), repeated)
	one.stop()
	two.connects()
	gets(t, offer, two)
}

// Offers are kept on three servers of a cluster, or on as many as there are.
func TestOffersAreKeptOnThreeServers(t *testing.T) {
	for _, size := range []int{1, 3} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			nodes := brokers(t, size)
			d := takesOffers(t, start(t, at(nodes[0])).connects(), toldOnce)
			offer := anOffer()
			d.offers(offer)
			gets(t, offer, d)
			c := stream(t, nodes[0].ClientURL()).Config
			if c.Replicas != size || c.MaxAge <= 0 || c.MaxBytes <= 0 || c.Storage != jetstream.FileStorage {
				t.Errorf("the stream is kept on %d servers: %+v", c.Replicas, c)
			}
		})
	}
}

// brokers are the servers of a cluster.
func brokers(t *testing.T, size int) (nodes []*server.Server) {
	t.Helper()
	if size == 1 {
		return []*server.Server{broker(t, keeping(t))}
	}
	var routes []string
	for i := range size {
		o := keeping(t)
		o.ServerName = fmt.Sprint("n", i)
		o.Cluster = server.ClusterOpts{Name: "fleet", Host: "127.0.0.1", Port: server.RANDOM_PORT}
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		nodes = append(nodes, broker(t, o))
		routes = append(routes, "nats://"+nodes[i].ClusterAddr().String())
	}
	waitFor(t, "the cluster has a leader that knows all", func() bool {
		for _, n := range nodes {
			if n.JetStreamIsLeader() && len(n.JetStreamClusterPeers()) == size {
				return true
			}
		}
		return false
	})
	return nodes
}

// Whoever reads everything on a broker learns no name and no id, and what others send is thrown away.
func TestOthersLearnNothingOfOffers(t *testing.T) {
	b := broker(t, keeping(t))
	d := takesOffers(t, start(t, at(b)).connects(), toldOnce)
	d.offers(anOffer())
	<-d.delivered
	conn, err := nats.Connect(b.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	seen, err := conn.SubscribeSync("fleetboard.offer.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	offer := anOffer()
	d.offers(offer)
	<-d.delivered
	m, err := seen.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	all := m.Subject + fmt.Sprint(m.Header) + string(m.Data)
	for _, secret := range []string{offer.Workspace.String(), offer.Job.String(), offer.Factory.String(), "job"} {
		if strings.Contains(all, secret) {
			t.Errorf("it says %s: %q", secret, all)
		}
	}
	kept := stream(t, b.ClientURL()).State.Msgs
	forged := append([]byte{}, m.Data...)
	forged[len(forged)-1] ^= 1
	for _, data := range [][]byte{forged, m.Data[:10], nil, []byte("{}")} {
		if err := conn.Publish(m.Subject, data); err != nil {
			t.Fatal(err)
		}
	}
	// On the subject of another factory it says nothing, though it was sealed by a server.
	if err := conn.Publish(m.Subject[:len(m.Subject)-1]+"x", m.Data); err != nil {
		t.Fatal(err)
	}
	next := anOffer()
	d.offers(next)
	gets(t, next, d)
	waitFor(t, "what was forged is thrown away", func() bool { return stream(t, b.ClientURL()).State.Msgs == kept+1 })
	// An advisory that the broker did not send kills no offer.
	info := stream(t, b.ClientURL())
	for sequence := range info.State.LastSeq {
		err := conn.Publish("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES."+info.Config.Name+".servers",
			fmt.Appendf(nil, `{"stream_seq":%d,"deliveries":5}`, sequence+1))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	last := anOffer()
	d.offers(last)
	gets(t, last, d)
	select {
	case dead := <-d.dead:
		t.Errorf("%+v is dead", dead)
	default:
	}
}

// A broker without JetStream carries wake-ups, and no offers.
func TestABrokerWithoutJetStream(t *testing.T) {
	b := broker(t, server.Options{})
	one, two := start(t, at(b)).connects(), start(t, at(b)).connects()
	d := takesOffers(t, one, toldOnce)
	if err := d.Publish(t.Context(), []transport.Offer{anOffer()}); err == nil {
		t.Error("an offer was published")
	}
	one.sends("a wake-up")
	two.receives("a wake-up")
}

// With the rights that the documentation names a user can do all that is needed.
func TestTheRightsThatOffersNeed(t *testing.T) {
	o := keeping(t)
	o.Users = []*server.User{{Username: "fleet", Password: "a", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{"fleetboard.wake.*", "fleetboard.offer.>", "$JS.API.>", "$JS.ACK.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"fleetboard.wake.*", "_INBOX.>",
			"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>"}},
	}}}
	b := broker(t, o)
	fleet := transport.NATSOptions{URL: "nats://fleet:a@" + b.Addr().String(), Key: key(1)}
	d := takesOffers(t, start(t, fleet).connects(), deadSoon)
	dead, taken := anOffer(), anOffer()
	d.offers(dead)
	for range deadSoon.Times {
		gets(t, dead, d)
	}
	select {
	case got := <-d.dead:
		if diff := cmp.Diff(dead, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
	d.offers(taken)
	if err := gets(t, taken, d).Done(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the broker keeps nothing", func() bool { return stream(t, fleet.URL).State.Msgs == 0 })
	select {
	case err := <-d.disconnected:
		t.Errorf("it is refused something: %v", err)
	default:
	}
}
