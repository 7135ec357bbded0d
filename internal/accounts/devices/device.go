package devices

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Life is how long a browser is known after a log in on it.
const Life = 90 * 24 * time.Hour

const (
	// Max is how many accounts one browser is known for.
	Max     = 4
	macSize = 16
	size    = 2*16 + 2*8 + macSize
)

// Origin is where a log in comes from.
type Origin struct {
	// Address is the network address.
	Address string
	// Devices is what Know gave the browser, "" for nothing.
	Devices string
}

// device is a browser on which an account has logged in. It is known by a signed
// word alone: a change of the account's epoch, by a new password or the end of
// all sessions, makes it an unknown one.
type device struct {
	account, id ids.ID
	epoch       int64
	since       time.Time
}

// Service knows browsers again by what they keep.
type Service struct {
	key []byte
	now func() time.Time
}

// New returns a service that signs with the key.
func New(key []byte, now func() time.Time) *Service {
	return &Service{key: key, now: now}
}

// Know adds to what a browser keeps that the account has logged in on it,
// in an epoch of its sessions. Nothing else in it changes, but that the oldest
// account is dropped where there are too many.
func (s *Service) Know(devices string, account ids.ID, epoch int64) string {
	mine := device{account: account, id: ids.New(), epoch: epoch, since: s.now()}
	list := make([]string, 1, Max)
	for _, entry := range split(devices) {
		d, ok := s.read(entry)
		switch {
		case !ok:
		case d.account == account:
			mine.id = d.id
		case len(list) < Max:
			list = append(list, entry)
		}
	}
	list[0] = s.sign(mine)
	return strings.Join(list, ".")
}

// Known names the browser where it is known for the account.
func (s *Service) Known(devices string, account ids.ID, epoch int64) (ids.ID, bool) {
	if account == ids.Nil {
		return ids.Nil, false
	}
	for _, entry := range split(devices) {
		if d, ok := s.read(entry); ok && d.account == account && d.epoch == epoch && s.now().Sub(d.since) < Life {
			return d.id, true
		}
	}
	return ids.Nil, false
}

func split(devices string) []string {
	list := strings.SplitN(devices, ".", Max+1)
	return list[:min(len(list), Max)]
}

func (s *Service) sign(d device) string {
	raw := make([]byte, 0, size)
	raw = append(raw, d.account[:]...)
	raw = append(raw, d.id[:]...)
	raw = binary.BigEndian.AppendUint64(raw, uint64(d.epoch))        //nolint:gosec // read back as it was
	raw = binary.BigEndian.AppendUint64(raw, uint64(d.since.Unix())) //nolint:gosec // read back as it was
	return base64.RawURLEncoding.EncodeToString(append(raw, s.mac(raw)...))
}

func (s *Service) read(entry string) (device, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(entry)
	if err != nil || len(raw) != size {
		return device{}, false
	}
	said, mac := raw[:size-macSize], raw[size-macSize:]
	if !hmac.Equal(mac, s.mac(said)) {
		return device{}, false
	}
	return device{
		account: ids.ID(said[:16]), id: ids.ID(said[16:32]),
		epoch: int64(binary.BigEndian.Uint64(said[32:])),               //nolint:gosec // as it was written
		since: time.Unix(int64(binary.BigEndian.Uint64(said[40:])), 0), //nolint:gosec // as it was written
	}, true
}

func (s *Service) mac(said []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(said)
	return mac.Sum(nil)[:macSize]
}
