// Package monitoring breaks real servers and asks Prometheus's own programs whether the alerts of
// deploy/prometheus fire, and whether the dashboard and the documents name figures that there are.
package monitoring
