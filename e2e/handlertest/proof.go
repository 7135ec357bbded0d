package handlertest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
)

// LongAgo makes the browser's session one whose person proved nothing for a while.
func (s *Site) LongAgo(t *testing.T) {
	t.Helper()
	ctx, err := s.Sessions.Load(context.Background(), s.Cookies["sid"].Value)
	if err != nil {
		t.Fatal(err)
	}
	s.Sessions.Put(ctx, sessions.Proven, strconv.FormatInt(time.Now().Add(-sessions.ProofLife).Unix(), 10))
	if _, _, err := s.Sessions.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// TokensMade returns how many tokens there are.
func (s *Site) TokensMade(t *testing.T) int {
	t.Helper()
	return dbfactory.FormTokenCount(t, s.DB)
}
