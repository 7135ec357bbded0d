package throttle

import (
	"context"
	"net/netip"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Limit is how many failures are free, before each next attempt waits 1, 2, 4, ...
// seconds, and the longest of these waits.
type Limit struct {
	Free       int
	MaxSeconds int
}

// The limits of attempts at a secret of an account. A known device is counted by
// itself and by nothing else: strangers can keep nobody out of it. Everybody else
// is counted by the network, by the account from that network, and by the account
// from everywhere, softly: a guess costs its time, and who was never here before
// waits a minute at most.
var (
	PerNetwork   = Limit{Free: 20, MaxSeconds: 15 * 60}
	PerNeighbour = Limit{Free: 5, MaxSeconds: 15 * 60}
	PerDevice    = Limit{Free: 5, MaxSeconds: 15 * 60}
	perAccount   = Limit{Free: 100, MaxSeconds: 60}
	// perCodes is perAccount for what is requested after the password, or of somebody
	// who is logged in: a code has six digits only.
	perCodes = Limit{Free: 20, MaxSeconds: 15 * 60}
)

// counter is one subject whose failures are counted.
type counter struct {
	Subject []byte
	Limit
	// afresh is set where one right attempt makes the earlier ones forgotten. A
	// network's are not, or one known password would free all guesses.
	afresh bool
}

// Attempt is one try at a secret, and the counts that it falls under.
type Attempt []counter

// Kind is what is tried. Each is counted by itself.
type Kind string

// The kinds: a password at log-in, a code after it, either of them in a session.
const (
	Password  Kind = "account"
	Code      Kind = "code"
	InSession Kind = "confirm"
)

// At names an attempt of an unknown caller at an account's secret.
func (s *Service) At(kind Kind, account, addr string) Attempt {
	everywhere := perCodes
	if kind == Password {
		everywhere = perAccount
	}
	list := Attempt{
		{Subject: s.subject(string(kind)+" from", account+" "+network(addr)), Limit: PerNeighbour, afresh: true},
		{Subject: s.subject(string(kind), account), Limit: everywhere},
	}
	if kind == InSession {
		return list // only a session gets here: no neighbour's failures count
	}
	return append(Attempt{{Subject: s.subject("address", network(addr)), Limit: PerNetwork}}, list...)
}

// on names an attempt on a known device.
func (s *Service) on(kind Kind, device ids.ID) Attempt {
	return Attempt{{Subject: s.subject(string(kind)+" on", device.String()), Limit: PerDevice, afresh: true}}
}

// From names an attempt at the secret of an account in an epoch, and says
// for whom a hash of it is made.
func (s *Service) From(kind Kind, account string, id ids.ID, epoch int64, from devices.Origin) (Attempt, passwords.Asker) {
	if device, ok := s.devices.Known(from.Devices, id, epoch); ok {
		return s.on(kind, device), passwords.Asker{Name: "device " + device.String(), Known: true}
	}
	return s.At(kind, account, from.Address), passwords.Stranger(from.Address)
}

// Take counts an attempt as failed before it is tried, so that a thousand
// attempts at one moment are not a thousand first ones. Where it has to wait,
// nothing is counted. Fault: TooMany.
func (s *Service) Take(ctx context.Context, try Attempt) error {
	return s.db.In(ctx, db.None, func(tx db.Tx) error { return TakeTx(ctx, tx, try) })
}

// TakeTx is Take in the caller's transaction.
func TakeTx(ctx context.Context, tx db.Tx, try Attempt) error {
	for _, t := range try {
		wait, err := countTx(ctx, tx, t)
		if err != nil {
			return err
		}
		if wait > 0 {
			return fault.New(fault.TooMany, "Too many attempts. Wait a moment and try again.").With("retry_after", wait)
		}
	}
	return nil
}

// Undo takes an attempt back that failed for want of capacity: nothing was tried.
func (s *Service) Undo(ctx context.Context, try Attempt, err error) error {
	if !fault.Is(err, fault.Unavailable) {
		return err
	}
	undone := s.db.In(ctx, db.None, func(tx db.Tx) error { return undoTx(ctx, tx, try) })
	if undone != nil {
		s.log.WarnContext(ctx, "a log in that was not tried stays counted", "error", undone)
	}
	return err
}

// Right clears the counts of an attempt that was right.
func (s *Service) Right(ctx context.Context, try Attempt) error {
	return s.db.In(ctx, db.None, func(tx db.Tx) error { return RightTx(ctx, tx, try) })
}

// network returns the part of an address that one attacker has to himself: all of an
// IPv4 address, the first half of an IPv6 one.
func network(addr string) string {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return "unknown"
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	prefix, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return prefix.String()
}
