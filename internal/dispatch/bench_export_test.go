package dispatch

// Transactions are how many transactions calls were answered in so far.
func (s *Service) Transactions() int64 {
	return s.claims.Transactions() + s.ends.Transactions() + s.beats.Transactions() + s.reports.Transactions() + s.usages.Transactions()
}
