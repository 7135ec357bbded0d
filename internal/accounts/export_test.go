package accounts

// SweepRows is for tests of Expire.
const SweepRows = sweepRows
