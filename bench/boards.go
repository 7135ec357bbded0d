package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// readersPerPerson is how many live pages the server allows each.
	readersPerPerson = 10
	boardPassword    = "a password for the bench"
)

func personEmail(i int) string { return fmt.Sprintf("person-%d@example.org", i) }

// person is somebody who is logged in.
type person struct {
	client  *http.Client
	session *http.Cookie
}

// people makes n accounts with the first owner's password, every second one of
// a viewer, and logs them in.
func (w *web) people(ctx context.Context, n int) ([]*person, error) {
	err := w.exec(ctx, `WITH made AS (
		INSERT INTO account (id, email, name, password_hash)
		SELECT gen_random_uuid(), 'person-' || n || '@example.org', 'Person ' || n, (SELECT password_hash FROM account WHERE email = $2)
		FROM generate_series(1, $1 - 1) n RETURNING id, email)
		INSERT INTO membership (workspace_id, account_id, role)
		SELECT m.workspace_id, made.id, CASE WHEN split_part(split_part(made.email, '-', 2), '@',
		1)::int % 2 = 1 THEN 'viewer' ELSE 'member' END
		FROM made, membership m JOIN account a ON a.id = m.account_id AND a.email = $2`, n, personEmail(0))
	if err != nil {
		return nil, err
	}
	var all []*person
	for i := range n {
		p, err := w.logIn(ctx, personEmail(i))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (w *web) logIn(ctx context.Context, email string) (*person, error) {
	p := &person{client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: readersPerPerson},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	form := url.Values{"email": {email}, "password": {boardPassword}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	for _, c := range res.Cookies() {
		p.session = c
	}
	if err := res.Body.Close(); err != nil || p.session == nil || res.StatusCode != http.StatusSeeOther {
		return nil, errors.Join(fmt.Errorf("log in: %s", res.Status), err)
	}
	return p, nil
}

// changes are the jobs that were completed, and when each completion was sent.
type changes struct {
	mu   sync.Mutex
	made map[string]time.Time
	seen []time.Duration // by one board each
}

// openBoard is a board's stream. It is read until its context ends.
type openBoard struct {
	body  io.ReadCloser
	bytes int
	had   map[string]bool
}

// open loads the board and connects to the stream that the page names.
func (p *person) open(ctx context.Context, w *web) (*openBoard, error) {
	page, err := p.get(ctx, w.url+"/board")
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(page.Body)
	if err := errors.Join(err, page.Body.Close()); err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(body), `hx-sse:connect="`)
	target, _, _ := strings.Cut(rest, `"`)
	if !ok {
		return nil, errors.New("the board names no stream")
	}
	res, err := p.get(ctx, w.url+html.UnescapeString(target)) //nolint:bodyclose // openBoard closes it
	if err != nil {
		return nil, err
	}
	return &openBoard{body: res.Body, had: map[string]bool{}}, nil
}

var (
	cardOf = []byte(`data-card="`)
	inDone = []byte(`" data-column="done"`)
)

// read looks for cards of completed jobs in the column done.
func (b *openBoard) read(c *changes) error {
	in := bufio.NewReaderSize(b.body, 1<<16)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		b.bytes += len(line)
		if bytes.HasPrefix(line, []byte("event: reset")) {
			return errors.New("a board was told to fetch itself again")
		}
		for {
			_, after, ok := bytes.Cut(line, cardOf)
			if !ok {
				break
			}
			if line = after; len(line) > 0 {
				key, rest, _ := bytes.Cut(line, []byte(`"`))
				if bytes.HasPrefix(line[len(key):], inDone) {
					b.see(c, string(key))
				}
				line = rest
			}
		}
	}
}

func (b *openBoard) see(c *changes, key string) {
	if b.had[key] {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, made := c.made[key]; made {
		b.had[key] = true
		c.seen = append(c.seen, time.Since(at))
	}
}

// watchBoards opens the boards, lets jobs be claimed and completed at an even
// pace, and gives the time that each board took to show each of them.
func (s *environment) watchBoards(ctx context.Context, w *web, people []*person, agents []*agent) ([]time.Duration, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	c := &changes{made: map[string]time.Time{}}
	boards := make([]*openBoard, s.sized(boardOpen, 4))
	for i := range boards {
		var err error
		if boards[i], err = people[i/readersPerPerson].open(reading, w); err != nil {
			return nil, err
		}
	}
	var readers errgroup.Group
	for _, b := range boards {
		readers.Go(func() error {
			if err := b.read(c); reading.Err() == nil {
				return err
			}
			return nil
		})
	}
	before, noProc := w.usage()
	postgres, _ := s.postgresUsage(ctx)
	began := time.Now()
	err := s.change(ctx, agents, c)
	passed := time.Since(began)
	if after, err := w.usage(); err == nil && noProc == nil {
		database, _ := s.postgresUsage(ctx)
		s.sayf("%d boards: the server took %.0f %% of a core, PostgreSQL %.0f %%, for %.0f changes a second", len(boards),
			ofACore(before, after, passed), ofACore(postgres, database, passed), float64(2*len(c.made))/passed.Seconds())
	}
	if err == nil {
		err = c.wait(ctx, len(boards))
	}
	stop()
	err = errors.Join(err, readers.Wait())
	total := 0
	for _, b := range boards {
		total += b.bytes
	}
	s.sayf("%.0f KB a second went to each board", float64(total)/1000/float64(len(boards))/passed.Seconds())
	return c.seen, err
}

// change claims and completes a job at each tick.
func (s *environment) change(ctx context.Context, agents []*agent, c *changes) error {
	tick := time.NewTicker(boardEvery)
	defer tick.Stop()
	end := time.After(s.lasting(boardLasts))
	var group errgroup.Group
	queue := make(chan struct{}, len(agents))
	for _, a := range agents {
		group.Go(func() error {
			for range queue {
				if err := a.workOne(c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-end:
			done = true
		case <-tick.C:
			queue <- struct{}{}
		}
	}
	close(queue)
	return errors.Join(group.Wait(), ctx.Err())
}

func (a *agent) workOne(c *changes) error {
	list, err := a.claim(nil, 1)
	if err != nil || len(list) == 0 {
		return errors.Join(err, errStrangeClaim)
	}
	c.mu.Lock()
	c.made[list[0].key] = time.Now()
	c.mu.Unlock()
	return a.complete(list[0])
}

// wait ends when every board has shown every change.
func (c *changes) wait(ctx context.Context, boards int) error {
	end, look := time.After(boardSettle), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for {
		c.mu.Lock()
		got, want := len(c.seen), len(c.made)*boards
		c.mu.Unlock()
		if got == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return fmt.Errorf("the boards showed %d of %d changes", got, want)
		case <-look.C:
		}
	}
}
