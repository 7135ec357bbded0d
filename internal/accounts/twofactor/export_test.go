package twofactor

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// PlainCode returns a code as it is checked.
func PlainCode(code string) string { return plainCode(code) }

// UseCode takes a code, without the throttle.
func (s *Service) UseCode(ctx context.Context, account ids.ID, code string) (bool, error) {
	return s.useCode(ctx, account, code)
}
