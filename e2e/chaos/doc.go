// Package chaos runs the whole of Fleetboard, three servers and ten agents on a
// PostgreSQL of their own, while processes are killed, stopped and cut off, and
// then checks whether every promise was kept: each submitted job ended exactly
// once, what was answered is there, nobody wrote with an old lease, and the log
// gives the state.
//
// A run is made of these parts, all in the tests' own process but the agents:
//
//   - the person submits jobs and tends them (reviews, answers, pauses, cancels)
//   - agents, one process each, work on them and write down what they were answered
//   - the monkey does the damage, by a seed that is printed
//   - the verdict compares what everybody was answered with the database
//
// FLEETBOARD_CHAOS_SECONDS is how long the jobs and the damage go on, 60 where it
// is not set; FLEETBOARD_CHAOS_SEED repeats the damage of another run. What
// failed keeps its logs, and says where they are.
//
// Another test runs containers with the embedded database on one volume, which
// replace each other and are killed: FLEETBOARD_VOLUME_ROUNDS times each, once
// where it is not set. Another one upgrades servers beside the version before,
// FLEETBOARD_UPGRADE_ROUNDS times (10); it builds another version, so only with the tag upgrade.
package chaos
