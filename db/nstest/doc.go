// Package nstest lets tests run programs as containers do, on Linux: in PID, IPC
// and mount namespaces of their own.
package nstest
