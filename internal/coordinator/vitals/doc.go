// Package vitals reports how the database keeps up: the dead rows of the tables that
// are rewritten all the time, and what keeps vacuum from removing them.
package vitals
