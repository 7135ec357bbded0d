package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNoProc says that a line which measures how much of a core a process takes
// cannot be measured here.
var errNoProc = errors.New("what a process takes is read from /proc, which only Linux has")

// clockTick is the unit of times in /proc on every Linux that Go knows.
const clockTick = 10 * time.Millisecond

// usage is what a process, or several, took so far and hold now.
type usage struct {
	CPU time.Duration
	RSS int64 // bytes; pages that processes share count for each
}

// usage of the server's process.
func (w *web) usage() (usage, error) { return readUsage(w.cmd.Process.Pid) }

// postgresUsage returns the usage of PostgreSQL, all its processes together, those
// that ended too.
func (s *environment) postgresUsage(ctx context.Context) (usage, error) {
	if runtime.GOOS != "linux" {
		return usage{}, errNoProc
	}
	var file string
	if err := s.owner.QueryRow(ctx, `SELECT pg_read_file('postmaster.pid')`).Scan(&file); err != nil {
		return usage{}, err
	}
	first, _, _ := strings.Cut(file, "\n")
	postmaster, err := strconv.Atoi(first)
	if err != nil {
		return usage{}, fmt.Errorf("postmaster.pid: %w", err)
	}
	all, err := readStat(postmaster)
	if err != nil {
		return usage{}, err
	}
	sum := usage{CPU: all.own + all.children, RSS: all.rss}
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return usage{}, err
	}
	for _, dir := range found {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		// A process that has just ended is counted with the postmaster's children.
		if st, err := readStat(pid); err == nil && st.parent == postmaster {
			sum.CPU, sum.RSS = sum.CPU+st.own, sum.RSS+st.rss
		}
	}
	return sum, nil
}

func readUsage(pid int) (usage, error) {
	st, err := readStat(pid)
	return usage{CPU: st.own, RSS: st.rss}, err
}

// costs are what the three parts of a measurement took so far, and the bytes that PostgreSQL
// has written to its log.
type costs struct {
	bench, server, postgres usage
	log                     int64
}

func (w *web) costs(ctx context.Context) (c costs, err error) {
	if c.bench, err = readUsage(os.Getpid()); err != nil {
		return c, err
	}
	if c.server, err = w.usage(); err != nil {
		return c, err
	}
	if c.postgres, err = w.environment.postgresUsage(ctx); err != nil {
		return c, err
	}
	err = w.environment.owner.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&c.log)
	return c, err
}

// sayCosts prints what each of n jobs took since before.
func (w *web) sayCosts(ctx context.Context, before costs, n int) error {
	after, err := w.costs(ctx)
	if err != nil {
		return err
	}
	each := func(before, after usage) float64 {
		return float64((after.CPU - before.CPU).Microseconds()) / float64(n)
	}
	w.environment.sayf("processor time of a job: server %.0f µs, PostgreSQL %.0f µs, the bench's client %.0f µs; log %d bytes",
		each(before.server, after.server),
		each(before.postgres, after.postgres), each(before.bench, after.bench), (after.log-before.log)/int64(n))
	return nil
}

// procStat is a part of /proc/PID/stat.
type procStat struct {
	parent        int
	own, children time.Duration
	rss           int64
}

func readStat(pid int) (procStat, error) {
	if runtime.GOOS != "linux" {
		return procStat{}, errNoProc
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	// The name before the last bracket may hold anything. What follows it begins
	// with the third field of proc(5).
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 22 {
		return procStat{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	at := func(n int) int64 {
		v, failed := strconv.ParseInt(string(fields[n-3]), 10, 64)
		err = errors.Join(err, failed)
		return v
	}
	st := procStat{parent: int(at(4)), own: time.Duration(at(14)+at(15)) * clockTick,
		children: time.Duration(at(16)+at(17)) * clockTick, rss: at(24) * int64(os.Getpagesize())}
	return st, err
}

// ofACore returns how much of a core was used between two looks, in percent.
func ofACore(before, after usage, passed time.Duration) float64 {
	return 100 * float64(after.CPU-before.CPU) / float64(passed)
}

// percentile returns the value that p percent of the list do not exceed (the nearest
// rank). The list is not empty, and is sorted by it.
func percentile[T cmp.Ordered](list []T, p float64) T {
	slices.Sort(list)
	rank := int(math.Ceil(p / 100 * float64(len(list))))
	return list[min(max(rank, 1), len(list))-1]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
