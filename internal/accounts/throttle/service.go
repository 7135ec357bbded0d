package throttle

import (
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
)

// Service counts failed attempts. It is safe for concurrent use.
type Service struct {
	db      *db.DB
	key     []byte
	devices *devices.Service
	log     *slog.Logger
}

// New returns a throttle that counts under an HMAC with the key.
func New(d *db.DB, key []byte, devices *devices.Service, log *slog.Logger) *Service {
	return &Service{db: d, key: key, devices: devices, log: log}
}

// subject names who is throttled without telling who it is.
func (s *Service) subject(kind, value string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(kind + ":" + value))
	return mac.Sum(nil)
}
