package quota

import (
	"math"
	"net/netip"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The heartbeats of one agent, whose normal is one in ten seconds. They have a
// bucket that nothing else takes from: a lease must not end because its agent,
// or anybody, sent too many requests.
const (
	beatsPerSecond = 5
	beatsAtOnce    = 20
)

// maxAskers bounds each kind of bucket, and with it the memory: about 300 bytes
// for each caller.
const maxAskers = 50_000

// Quota is the buckets of one process, its part of what all servers grant. Methods are safe for concurrent use, and
// those of a nil Quota allow everything. All refusals are fault.TooMany with
// Details["retry_after"], whole seconds of at least one.
type Quota struct {
	calls      *buckets[ids.ID] // of a person by all tokens; of an agent
	beats      *buckets[ids.ID] // of an agent
	enrolments *buckets[ids.ID] // of an enrolment token
	fleets     *buckets[ids.ID] // of all enrolment tokens of a workspace
	people     *buckets[ids.ID] // of an account
	addresses  *buckets[netip.Prefix]
	held       *holds
	proven     *holds // credentials that were good lately
	doubts     chan struct{}
}

// New returns the quota of a server. A person with tokens, and an agent, may send perSecond requests a
// second, and five times as many at once; an enrolment token ten times as many
// at once, for a whole fleet comes back with it. A person at a browser, and an
// address that says nothing valid about who calls, may send a quarter of
// perSecond, and six times that at once. Each is divided among the servers. 0 or less returns nil.
func New(perSecond int, servers Servers) *Quota {
	if perSecond <= 0 {
		return nil
	}
	few := max(perSecond/4, 1)
	return &Quota{
		calls:      newBuckets[ids.ID](perSecond, 5*perSecond, maxAskers, servers),
		beats:      newBuckets[ids.ID](beatsPerSecond, beatsAtOnce, maxAskers, servers),
		enrolments: newBuckets[ids.ID](perSecond, 10*perSecond, maxAskers, servers),
		fleets:     newBuckets[ids.ID](4*perSecond, 20*perSecond, maxAskers, servers),
		people:     newBuckets[ids.ID](few, 6*few, maxAskers, servers),
		addresses:  newBuckets[netip.Prefix](few, 6*few, maxAskers, servers),
		held:       newHolds(),
		proven:     newHolds(),
		doubts:     make(chan struct{}, doubtsAtOnce),
	}
}

// Held refuses a credential, a token or a session's cookie, whose holder Call or
// Person has just refused, without a look at who that is. It counts nothing.
func (q *Quota) Held(credential string) error {
	if q == nil {
		return nil
	}
	return refusal(q.held.left(credential))
}

// Call counts one call of the API with a token.
func (q *Quota) Call(who tenancy.Principal, token string) error {
	switch {
	case q == nil:
		return nil
	case who.Kind == tenancy.KindAgent:
		return refusal(q.calls.take(who.Agent))
	}
	q.proven.put(token, provenLife)
	if who.Kind == tenancy.KindEnrolment {
		return q.hold(token, max(q.enrolments.take(who.Token), q.fleets.take(who.Workspace)))
	}
	return q.hold(token, q.calls.take(who.Account))
}

// Heartbeat counts one heartbeat of an agent.
func (q *Quota) Heartbeat(agent ids.ID) error {
	if q == nil {
		return nil
	}
	return refusal(q.beats.take(agent))
}

// Person counts one request of a person at a browser, with a session's cookie.
func (q *Quota) Person(account ids.ID, cookie string) error {
	if q == nil {
		return nil
	}
	return q.hold(cookie, q.people.take(account))
}

// Address counts one request that nobody answers for, from a network address.
func (q *Quota) Address(address string) error {
	if q == nil {
		return nil
	}
	return refusal(q.addresses.take(network(address)))
}

func (q *Quota) hold(credential string, wait time.Duration) error {
	if wait > 0 {
		q.held.put(credential, wait)
	}
	return refusal(wait)
}

func refusal(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	return fault.New(fault.TooMany, "Too many requests. Wait %d s and try again.", seconds).With("retry_after", seconds)
}

// network returns the part of an address that one caller has to itself: all of an
// IPv4 address, the first half of an IPv6 one. All that is no address is one.
func network(address string) netip.Prefix {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(a, bits).Masked()
}
