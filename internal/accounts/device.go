package accounts

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"fleetboard/internal/ids"
)

// DeviceLife is how long a browser is known after a log in on it.
const DeviceLife = 90 * 24 * time.Hour

const (
	// maxDevices is how many accounts one browser is known for.
	maxDevices = 4
	deviceMAC  = 16
	deviceSize = 2*16 + 2*8 + deviceMAC
)

// Origin is where a log in comes from.
type Origin struct {
	// Address is the network address.
	Address string
	// Devices is what KnowDevice gave the browser, "" for nothing.
	Devices string
}

// device is a browser on which an account has logged in. It is known by a signed
// word alone: a change of the account's epoch, by a new password or the end of
// all sessions, makes it a stranger.
type device struct {
	account, id ids.ID
	epoch       int64
	since       time.Time
}

// deviceService knows browsers again by what they keep.
type deviceService struct {
	key []byte
	now func() time.Time
}

// newDeviceService returns a service that signs with the key.
func newDeviceService(key []byte, now func() time.Time) *deviceService {
	return &deviceService{key: key, now: now}
}

// KnowDevice adds to what a browser keeps that the account has logged in on it,
// in an epoch of its sessions. Nothing else in it changes, but that the oldest
// account is dropped where there are too many.
func (s *deviceService) KnowDevice(devices string, account ids.ID, epoch int64) string {
	mine := device{account: account, id: ids.New(), epoch: epoch, since: s.now()}
	list := make([]string, 1, maxDevices)
	for _, entry := range split(devices) {
		d, ok := s.readDevice(entry)
		switch {
		case !ok:
		case d.account == account:
			mine.id = d.id
		case len(list) < maxDevices:
			list = append(list, entry)
		}
	}
	list[0] = s.signDevice(mine)
	return strings.Join(list, ".")
}

// knownDevice names the browser where it is known for the account.
func (s *deviceService) knownDevice(devices string, account ids.ID, epoch int64) (ids.ID, bool) {
	if account == ids.Nil {
		return ids.Nil, false
	}
	for _, entry := range split(devices) {
		if d, ok := s.readDevice(entry); ok && d.account == account && d.epoch == epoch && s.now().Sub(d.since) < DeviceLife {
			return d.id, true
		}
	}
	return ids.Nil, false
}

func split(devices string) []string {
	list := strings.SplitN(devices, ".", maxDevices+1)
	return list[:min(len(list), maxDevices)]
}

func (s *deviceService) signDevice(d device) string {
	raw := make([]byte, 0, deviceSize)
	raw = append(raw, d.account[:]...)
	raw = append(raw, d.id[:]...)
	raw = binary.BigEndian.AppendUint64(raw, uint64(d.epoch))        //nolint:gosec // read back as it was
	raw = binary.BigEndian.AppendUint64(raw, uint64(d.since.Unix())) //nolint:gosec // read back as it was
	return base64.RawURLEncoding.EncodeToString(append(raw, s.deviceMAC(raw)...))
}

func (s *deviceService) readDevice(entry string) (device, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(entry)
	if err != nil || len(raw) != deviceSize {
		return device{}, false
	}
	said, mac := raw[:deviceSize-deviceMAC], raw[deviceSize-deviceMAC:]
	if !hmac.Equal(mac, s.deviceMAC(said)) {
		return device{}, false
	}
	return device{
		account: ids.ID(said[:16]), id: ids.ID(said[16:32]),
		epoch: int64(binary.BigEndian.Uint64(said[32:])),               //nolint:gosec // as it was written
		since: time.Unix(int64(binary.BigEndian.Uint64(said[40:])), 0), //nolint:gosec // as it was written
	}, true
}

func (s *deviceService) deviceMAC(said []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(said)
	return mac.Sum(nil)[:deviceMAC]
}
