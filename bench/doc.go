// Command bench measures Fleetboard on the machine it runs on: `go run ./bench`
// measures every line, `go run ./bench rls claims` some of them. It starts a
// PostgreSQL of its own with every promise of durability on, and servers as they
// are released, loads them, and prints a table and, after it, one JSON object for
// each figure. Beside Fleetboard the raw loop of pgbench and River run on the
// same PostgreSQL; where one of them is not there, its figures are left out.
//
// After each line that goes over HTTP the server's audit and verify-log have to
// find nothing.
//
// The environment:
//
//	FLEETBOARD_BENCH_ROWS     how large everything is, in jobs of the database
//	                          that is loaded (1,000,000); the rest goes with it
//	FLEETBOARD_BENCH_LONG     where not empty, the large sizes of a few lines
//	FLEETBOARD_BENCH_DIR      where the databases lie (a new folder of the
//	                          system's temporary one); removed afterwards
//	FLEETBOARD_FAIRNESS       the calls that fairness measures, separated by commas
//	                          (all of them); that line takes twenty minutes, and is
//	                          measured only where it is named
//	FLEETBOARD_BENCH_PROFILE  a folder for profiles of the servers, LINE-N.cpu
//	                          and LINE-N.allocs; measuring costs a little then
//
// The exit status is 1 where a figure misses its limit, 2 where nothing could
// be measured.
package main
