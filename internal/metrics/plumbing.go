package metrics

// The database as this server sees it, the bus and wake-ups.
var (
	DatabaseErrors = counters("database_errors_total", "kind",
		"Errors of the database that this server met: connection, pool (none came free), timeout, lock, read_only, resources, "+
			"outcome_unknown.",
		"connection", "pool", "timeout", "lock", "read_only", "resources", "outcome_unknown")

	MessagesSent = counter("messages_sent_total", "Messages between agents and people that this server has written.")
	MessagesDead = counter("messages_dead_total", "Messages that this server gave up, delivered five times and never acknowledged.")

	WakeUpsSent     = counter("wakeups_sent_total", "Topics that this server has sent to the others.")
	WakeUpsReceived = counter("wakeups_received_total", "Messages with topics that this server has received, its own too.")
	Interruptions   = counter("transport_interruptions_total", "Times that the transport of wake-ups was interrupted at this server.")
)
