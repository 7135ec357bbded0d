package login

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// WrongLogin is the one answer to every wrong log in.
const WrongLogin = wrongLogin

// ReplacePassword returns what two changes at one moment come to.
func (s *Service) ReplacePassword(ctx context.Context, who tenancy.Principal, old, password, token string) (int64, error) {
	return s.replacePassword(ctx, who, old, password, token)
}
