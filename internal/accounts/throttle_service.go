package accounts

import (
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"

	"fleetboard/db"
)

// throttleService counts failed attempts. It is safe for concurrent use.
type throttleService struct {
	db      *db.DB
	key     []byte
	devices *deviceService
	log     *slog.Logger
}

// newThrottleService returns a throttle that counts under an HMAC with the key.
func newThrottleService(d *db.DB, key []byte, devices *deviceService, log *slog.Logger) *throttleService {
	return &throttleService{db: d, key: key, devices: devices, log: log}
}

// subject names who is throttled without telling who it is.
func (s *throttleService) subject(kind, value string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(kind + ":" + value))
	return mac.Sum(nil)
}
