package accounts

import (
	"context"
	"net/netip"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// limit is how many failures are free, before each next attempt waits 1, 2, 4, ...
// seconds, and the longest of these waits.
type limit struct {
	free       int32
	maxSeconds int32
}

// The limits of attempts at a secret of an account. A known device is counted by
// itself and by nothing else: strangers can keep nobody out of it. Everybody else
// is counted by the network, by the account from that network, and by the account
// from everywhere, softly: a guess costs its time, and who was never here before
// waits a minute at most.
var (
	perNetwork   = limit{free: 20, maxSeconds: 15 * 60}
	perNeighbour = limit{free: 5, maxSeconds: 15 * 60}
	perDevice    = limit{free: 5, maxSeconds: 15 * 60}
	perAccount   = limit{free: 100, maxSeconds: 60}
	// perCodes is perAccount for what is asked after the password, or of somebody
	// who is logged in: a code has six digits only.
	perCodes = limit{free: 20, maxSeconds: 15 * 60}
)

// counter is one subject whose failures are counted.
type counter struct {
	subject []byte
	limit
	// afresh is set where one right attempt makes the earlier ones forgotten. A
	// network's are not, or one known password would free all guesses.
	afresh bool
}

// attempt is one try at a secret, and the counts that it falls under.
type attempt []counter

// kindOfSecret is what is tried. Each is counted by itself.
type kindOfSecret string

const (
	logInPassword kindOfSecret = "account"
	logInCode     kindOfSecret = "code"
	inSession     kindOfSecret = "confirm"
)

// attemptAt names an attempt of a stranger at an account's secret.
func (s *throttleService) attemptAt(kind kindOfSecret, account, addr string) attempt {
	everywhere := perCodes
	if kind == logInPassword {
		everywhere = perAccount
	}
	list := attempt{
		{subject: s.subject(string(kind)+" from", account+" "+network(addr)), limit: perNeighbour, afresh: true},
		{subject: s.subject(string(kind), account), limit: everywhere},
	}
	if kind == inSession {
		return list // only a session gets here: no neighbour's failures count
	}
	return append(attempt{{subject: s.subject("address", network(addr)), limit: perNetwork}}, list...)
}

// attemptOn names an attempt on a known device.
func (s *throttleService) attemptOn(kind kindOfSecret, device ids.ID) attempt {
	return attempt{{subject: s.subject(string(kind)+" on", device.String()), limit: perDevice, afresh: true}}
}

// attemptFrom names an attempt at the secret of an account in an epoch, and says
// for whom a hash of it is made.
func (s *throttleService) attemptFrom(kind kindOfSecret, account string, id ids.ID, epoch int64, from Origin) (attempt, asker) {
	if device, ok := s.devices.knownDevice(from.Devices, id, epoch); ok {
		return s.attemptOn(kind, device), asker{name: "device " + device.String(), known: true}
	}
	return s.attemptAt(kind, account, from.Address), stranger(from.Address)
}

// take counts an attempt as failed before it is tried, so that a thousand
// attempts at one moment are not a thousand first ones. Where it has to wait,
// nothing is counted. Fault: TooMany.
func (s *throttleService) take(ctx context.Context, try attempt) error {
	return s.db.InNone(ctx, func(tx db.Tx) error { return takeTx(ctx, tx, try) })
}

func takeTx(ctx context.Context, tx db.Tx, try attempt) error {
	for _, t := range try {
		wait, err := takeAttemptTx(ctx, tx, t)
		if err != nil {
			return err
		}
		if wait > 0 {
			return fault.New(fault.TooMany, "Too many attempts. Wait a moment and try again.").With("retry_after", wait)
		}
	}
	return nil
}

// undo takes an attempt back that failed for want of room: nothing was tried.
func (s *throttleService) undo(ctx context.Context, try attempt, err error) error {
	if !fault.Is(err, fault.Unavailable) {
		return err
	}
	undone := s.db.InNone(ctx, func(tx db.Tx) error { return attemptUndoneTx(ctx, tx, try) })
	if undone != nil {
		s.log.WarnContext(ctx, "a log in that was not tried stays counted", "error", undone)
	}
	return err
}

// right clears the counts of an attempt that was right.
func (s *throttleService) right(ctx context.Context, try attempt) error {
	return s.db.InNone(ctx, func(tx db.Tx) error { return attemptRightTx(ctx, tx, try) })
}

// network is the part of an address that one attacker has to himself: all of an
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
