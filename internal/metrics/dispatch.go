package metrics

// Buckets of times, in seconds.
var (
	quick = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	slow  = []float64{.005, .025, .1, .5, 1, 2.5, 5, 15, 60, 300}
)

// Claimed and Refused are results of claims beside the reasons why one gives nothing.
const (
	Claimed = "job"
	Refused = "refused"
)

// Claims, heartbeats and what becomes of jobs.
var (
	Claims = counters("claims_total", "result",
		"Claims that this server has answered, by what they got: job, why nothing, or refused.",
		Claimed, Refused, "empty", "no_seats", "draining", "stopped", "paused", "review_backlog", "budget", "rate_limited")
	ClaimedJobs = counter("claimed_jobs_total", "Jobs that this server has given to claims, to ended leases' next ones too.")
	ClaimTime   = histogram("claim_duration_seconds",
		"Time of one look of a claim at the queue at this server, without waiting for a job.", quick)
	ClaimsWaiting = gauge("claims_waiting", "Claims and reads of inboxes that wait at this server.")

	Heartbeats = counters("heartbeats_total", "result", "Heartbeats that this server has answered: ok or refused.", "ok", Refused)
	BeatTime   = histogram("heartbeat_duration_seconds", "Time of a heartbeat at this server.", quick)

	Registrations = counter("agent_registrations_total", "Registrations of agents that this server has answered.")

	JobsEnded = counters("jobs_ended_total", "status",
		"Jobs that came into a last status by what this server did: completed, failed, aborted.", "completed", "failed", "aborted")
	Exhausted   = counter("job_retries_exhausted_total", "Jobs that this server saw fail with no try left.")
	LeasesEnded = counter("leases_ended_total", "Leases that ended by what this server did.")
	DeadOffers  = counter("dead_offers_total", "Offers of jobs that a broker delivered in vain, as this server noted.")
)
