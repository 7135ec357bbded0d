package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/internal/signal"
)

func init() {
	register(line{"fairness", "claims, heartbeats and reads of others beside one credential at full speed, call by call", fairness})
}

const (
	// fairnessLimit is by how much the others' p99 may rise.
	fairnessLimit = 3
	// fairnessAtOnce are the connections of the one credential.
	fairnessAtOnce = 8
	// fairnessPause lies between two rounds of one of the others.
	fairnessPause = 30 * time.Millisecond
	// Each call is measured in some turns, alone and beside.
	fairnessTurns  = 2
	fairnessAlone  = 1500 * time.Millisecond
	fairnessBeside = 3 * time.Second
	// fairnessWarming is the time before each turn that is not measured.
	fairnessWarming = 300 * time.Millisecond
	// fairnessAgents are the agents of each of the others: heartbeats have a limit of
	// their own.
	fairnessAgents = 20
	// fairnessLaid are the jobs that are laid ready for the others before each call.
	fairnessLaid = 600
)

// fairness measures, for each call of the API with its worst legal input, how long claims,
// heartbeats and reads of others take at most while one credential makes that call at full
// speed: of agents of its workspace and of agents of another one. FLEETBOARD_FAIRNESS names
// the calls, separated by commas; without it all are measured. The server has the limits
// that it is released with. What misses is measured once more, for twice as long, and the
// second time counts.
func fairness(ctx context.Context, s *environment) (figures []figure, err error) {
	err = s.withWeb(ctx, func(w *web) error {
		f, err := w.fairness(ctx)
		if err != nil {
			return err
		}
		defer f.close()
		names, err := f.chosen(s.fairness)
		if err != nil {
			return err
		}
		if err := f.legal(ctx, names); err != nil {
			return err
		}
		s.sayf("| call | worst input | p99 alone: claim, heartbeat, read | beside | factor | answers a second: 2xx, 429, other |")
		s.sayf("|---|---|---|---|---|---|")
		var failed []error
		for _, name := range names {
			got, err := f.measure(ctx, name, 1)
			if err == nil && got.factor() > fairnessLimit {
				s.sayf("%s", got)
				got, err = f.measure(ctx, name, 2)
			}
			if err != nil {
				s.sayf("%s: %v", name, err)
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
				continue
			}
			s.sayf("%s", got)
			figures = append(figures, got.figure())
		}
		return errors.Join(failed...)
	}, "FLEETBOARD_RATE_LIMIT=200")
	return figures, err
}

// kinds are the calls that the others make.
var kinds = []string{"claim", "heartbeat", "read"}

// waits are how long the others waited, by kind.
type waits [3][]time.Duration

func (w waits) p99(kind int) float64 { return ms(percentile(slices.Clone(w[kind]), 99)) }

func (w waits) String() string {
	return fmt.Sprintf("%.1f, %.1f, %.1f ms", w.p99(0), w.p99(1), w.p99(2))
}

// unfairness is what was measured of one call.
type unfairness struct {
	call, what    string
	alone, beside waits
	answers       [3]int64 // 2xx, 429, other
	lasted        time.Duration
}

// worst returns the kind that suffered most.
func (u *unfairness) worst() (kind int) {
	for k := range kinds {
		if u.beside.p99(k)/u.alone.p99(k) > u.beside.p99(kind)/u.alone.p99(kind) {
			kind = k
		}
	}
	return kind
}

func (u *unfairness) factor() float64 { return u.beside.p99(u.worst()) / u.alone.p99(u.worst()) }

func (u *unfairness) String() string {
	rate := func(n int64) float64 { return float64(n) / u.lasted.Seconds() }
	return fmt.Sprintf("| `%s` | %s | %s | %s | %.1f (%s) | %.0f, %.0f, %.0f |", u.call, u.what, u.alone, u.beside, u.factor(),
		kinds[u.worst()], rate(u.answers[0]), rate(u.answers[1]), rate(u.answers[2]))
}

func (u *unfairness) figure() figure {
	kind := u.worst()
	f := versus("p99 of "+kinds[kind]+" beside "+u.call+"; alone", u.beside.p99(kind), u.alone.p99(kind), "ms", len(u.beside[kind]))
	f.AtMost = fairnessLimit
	return f
}

// measure lets the others work alone and beside the call, by turns.
func (f *fair) measure(ctx context.Context, name string, times int) (*unfairness, error) {
	in := f.inputs[name]
	u := &unfairness{call: name, what: in.what}
	for range fairnessTurns {
		if err := f.lay(ctx); err != nil {
			return nil, err
		}
		if err := f.others(ctx, f.lasting(fairnessAlone)*time.Duration(times), &u.alone); err != nil {
			return nil, err
		}
		stop := f.attack(ctx, in, u)
		lasting := f.lasting(fairnessBeside) * time.Duration(times)
		if err := errors.Join(f.others(ctx, lasting, &u.beside), stop()); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// attack makes a call over some connections at once, as fast as it is answered, until stop.
func (f *fair) attack(ctx context.Context, in worst, u *unfairness) (stop func() error) {
	within, end := context.WithCancel(ctx)
	var group errgroup.Group
	began := time.Now()
	for range fairnessAtOnce {
		group.Go(func() error {
			c := f.web.caller(within, f.tokens[in.as])
			defer c.close()
			for within.Err() == nil {
				status, err := f.once(within, c, in)
				switch {
				case within.Err() != nil:
					return nil
				case err != nil:
					return err
				case status < http.StatusMultipleChoices:
					atomic.AddInt64(&u.answers[0], 1)
				case status == http.StatusTooManyRequests:
					atomic.AddInt64(&u.answers[1], 1)
				default:
					atomic.AddInt64(&u.answers[2], 1)
				}
			}
			return nil
		})
	}
	return func() error {
		end()
		err := group.Wait()
		u.lasted += time.Since(began)
		return err
	}
}

// legal makes each call once. One that is not understood, or not allowed, measures nothing;
// one that finds its job in another state does. What can be done once only is refused on purpose.
func (f *fair) legal(ctx context.Context, names []string) error {
	var errs []error
	for _, name := range names {
		in := f.inputs[name]
		if in.bytes || strings.HasPrefix(in.what, "refused:") {
			continue
		}
		c := f.web.caller(ctx, f.tokens[in.as])
		path, body := in.next(f.calls.Add(1))
		a, err := c.call(in.method, path, body)
		c.close()
		switch a.status {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
			http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
			err = fmt.Errorf("%s: %d %.400s", name, a.status, a.body)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// once makes the call for the next time. Bytes that are no JSON go through without being
// kept.
func (f *fair) once(ctx context.Context, c *caller, in worst) (status int, err error) {
	path, body := in.next(f.calls.Add(1))
	if !in.bytes {
		a, err := c.call(in.method, path, body)
		return a.status, err
	}
	r, err := http.NewRequestWithContext(ctx, in.method, f.web.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Accept", in.accept)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, errors.Join(err, res.Body.Close())
}

// others lets them claim, send heartbeats, read and complete at a steady pace, and notes
// how long they waited.
func (f *fair) others(ctx context.Context, lasting time.Duration, into *waits) error {
	group, within := errgroup.WithContext(ctx)
	var mu sync.Mutex
	for _, o := range f.beside {
		group.Go(func() error {
			began := time.Now()
			for time.Since(began) < fairnessWarming+lasting {
				due := time.Now().Add(fairnessPause)
				took, err := o.round()
				if err != nil {
					return err
				}
				if time.Since(began) > fairnessWarming {
					mu.Lock()
					for k := range kinds {
						into[k] = append(into[k], took[k])
					}
					mu.Unlock()
				}
				if err := signal.Sleep(within, time.Until(due)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// other is somebody beside: agents of one workspace that work by turns, and a job of it.
type other struct {
	agents []*agent
	job    string
	rounds int
}

// round returns a claim, a heartbeat and a read, each with its time, and the end of the job.
func (o *other) round() (took [3]time.Duration, err error) {
	a := o.agents[o.rounds%len(o.agents)]
	o.rounds++
	began := time.Now()
	if a.taken, err = a.claim(a.taken[:0], 1); err != nil {
		return took, err
	}
	took[0] = time.Since(began)
	began = time.Now()
	if _, err := a.must(http.MethodPost, "/api/v1/agents/"+a.name+"/heartbeat", a.appendBeat(nil), http.StatusOK); err != nil {
		return took, err
	}
	took[1] = time.Since(began)
	began = time.Now()
	if _, err := a.must(http.MethodGet, "/api/v1/jobs/"+o.job, nil, http.StatusOK); err != nil {
		return took, err
	}
	took[2] = time.Since(began)
	for _, l := range a.taken {
		// A job that somebody cancelled meanwhile is not completed.
		if _, err := a.must(http.MethodPost, "/api/v1/fleet/complete", l.append(nil, ""), http.StatusOK, http.StatusConflict); err != nil {
			return took, err
		}
	}
	return took, nil
}
