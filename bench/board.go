package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"
)

const (
	boardJobs   = 1_000_000
	boardLoads  = 100
	boardOpen   = 200
	boardAgents = 20
	// boardEvery is the time between two jobs that are claimed and completed: two
	// changes each.
	boardEvery  = 40 * time.Millisecond
	boardLasts  = 30 * time.Second
	boardSettle = 20 * time.Second // until every board has seen all
	// Limits in ms.
	firstByteLimit = 100
	seenLimit      = 300
)

func init() {
	register(line{"board", "the board among many jobs, and how soon open boards show a change", board})
}

// board measures the first byte of the board over HTTP with a session, and then
// the time from the request that changes a job to the moment when it stands in
// its new column on every one of many open boards: half of them of people who may
// write, half of others, while jobs are claimed and completed one after another.
func board(ctx context.Context, s *environment) (figures []figure, err error) {
	err = s.withWeb(ctx, func(w *web) error {
		jobs := s.sized(boardJobs, minJobs)
		if err := w.fill(ctx, load{ready: jobs * 3 / 10, waiting: jobs * 2 / 10, completed: jobs * 5 / 10}); err != nil {
			return err
		}
		agents, err := w.register(ctx, s.sized(boardAgents, 2), 5)
		if err != nil {
			return err
		}
		people, err := w.people(ctx, (s.sized(boardOpen, 4)+readersPerPerson-1)/readersPerPerson)
		if err != nil {
			return err
		}
		loads, err := s.firstBytes(ctx, w, people[0])
		if err != nil {
			return err
		}
		seen, err := s.watchBoards(ctx, w, people, agents)
		if err != nil {
			return err
		}
		figures = []figure{
			within(fmt.Sprintf("board at %d jobs: first byte, p95", jobs), ms(percentile(loads, 95)), firstByteLimit, "ms", len(loads)),
			within(fmt.Sprintf("change to seen by %d boards, p95", s.sized(boardOpen, 4)), ms(percentile(seen, 95)), seenLimit, "ms",
				len(seen)),
		}
		return nil
	}, "FLEETBOARD_ADMIN_EMAIL="+personEmail(0), "FLEETBOARD_ADMIN_PASSWORD="+boardPassword)
	return figures, err
}

// minJobs is the least that the board is measured with.
const minJobs = 1000

// firstBytes loads the board again and again. The first time after the fill, when
// nothing of it was read before, is reported apart.
func (s *environment) firstBytes(ctx context.Context, w *web, p *person) ([]time.Duration, error) {
	var all []time.Duration
	size := 0
	for range s.sized(boardLoads, 5) + 1 {
		took, n, err := p.load(ctx, w.url+"/board")
		if err != nil {
			return nil, err
		}
		all, size = append(all, took), n
	}
	s.sayf("board: %.0f KB, the first time %.1f ms, then p50 %.1f ms, p99 %.1f ms", float64(size)/1000, ms(all[0]),
		ms(percentile(all[1:], 50)), ms(percentile(all[1:], 99)))
	return all[1:], nil
}

// load gets a page and returns when its first byte came, and its size.
func (p *person) load(ctx context.Context, address string) (took time.Duration, size int, err error) {
	began := time.Now()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { took = time.Since(began) }})
	res, err := p.get(traced, address)
	if err != nil {
		return 0, 0, err
	}
	body, err := io.ReadAll(res.Body)
	return took, len(body), errors.Join(err, res.Body.Close())
}

// get sends a request with the person's session.
func (p *person) get(ctx context.Context, address string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.AddCookie(p.session)
	res, err := p.client.Do(r)
	if err == nil && res.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("GET %s: %s", address, res.Status), res.Body.Close())
	}
	return res, err
}
