// Package ha runs Fleetboard as deploy/ha has it run on several machines, and kills one part of
// it after another: three servers behind HAProxy, three machines with PostgreSQL under Patroni, and
// three members of etcd. The third server reaches PostgreSQL through PgBouncer.
//
// A thousand simulated agents work meanwhile over the JSON API. What they were answered is kept in
// a ledger, and afterwards held against the database: of what was answered nothing may be lost,
// there twice, or another by a billionth of a dollar.
//
// FLEETBOARD_HA_SECONDS is how long the kills go on, 600 where it is not set;
// FLEETBOARD_HA_AGENTS how many agents there are; FLEETBOARD_HA_WORK how many seconds a job takes;
// FLEETBOARD_HA_SEED repeats the kills of another run.
package ha
