// Package pools keeps named templates of factories that scalers start, and counts how many of
// them the queue needs: against the template, so that it works while no factory lives. A job
// counts for one pool, that which wastes least on it and has room.
//
// A scaler reads a pool's demand, begins a start (which the server grants as long as the demand
// is there, so that two scalers do not start one factory twice) and says when it drains and when
// it has ended. What lies between the beginning of a start and the registration of the factory
// is its cold start, by the database's clock.
package pools
