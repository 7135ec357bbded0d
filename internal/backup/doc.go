// Package backup copies the database of a server to a directory, a file or a bucket while it is used,
// archives its write-ahead log there, and restores it from there, also as it was at a named second.
//
// A backup is a folder of parts, each of a bounded size, and a manifest, which is written last: what
// has no manifest is no backup. The manifest lists the parts with their SHA-256 and is signed under the
// server's secret key.
//
//	20261127T014500Z-5e0d/base.tar.00001     the cluster (kind cluster), or dump.00001 (kind dump)
//	20261127T014500Z-5e0d/manifest.json
//	log/5e0d7a31/…                           the write-ahead log from a cluster's first backup on
//
// A cluster's backup is restored to its end, or to any second up to which the log was archived; a dump
// to the moment at which it began.
package backup
