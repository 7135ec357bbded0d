// Package dbtest gives tests real databases, one for each test.
//
// All test packages of a machine share one PostgreSQL server. It is started on
// demand and stays, so that the next run finds it warm: in memory, or in the user's
// cache directory where memory has too little space; `make stop-test-db` ends it.
// FLEETBOARD_TEST_DATABASE_URL names another server instead, by a superuser's login.
//
// A database is a copy of a template that is migrated once for each set of
// migrations. New connects as the application does, without the owner's rights,
// so that policies are really tested.
package dbtest
