// Package scaler starts workers on this machine for the pools of a server, and ends them when
// they are not needed any more. It reads the demand of each pool every second. For each worker
// there is a directory with what it is, which is written before the server grants its start; the
// worker itself writes its process id there, or does not begin. So a scaler that is started
// again knows all workers of the one before it and starts none twice, and none is left over.
package scaler
