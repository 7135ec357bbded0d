package proof

import "context"

// Look looks which PostgreSQL answers, as the loop does.
func (s *Service) Look(ctx context.Context) error { return s.look(ctx) }

// Prove carries out the proof that is due, as the loop does.
func (s *Service) Prove(ctx context.Context) error { return s.prove(ctx) }
