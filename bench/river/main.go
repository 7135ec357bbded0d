package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sync/errgroup"
)

const insertBatch = 1000

// try is one way to let River work; the best counts.
type try struct {
	inserters, workers int
	// How often River polls for jobs; 0 is its default of 100 ms and a second.
	cooldown, poll time.Duration
}

// tries begin with River as it is without settings, apart from the number of
// workers. The last is what River's own benchmark program works with.
var tries = []try{
	{inserters: 1, workers: 1000},
	{inserters: 1, workers: 500, cooldown: 2 * time.Millisecond, poll: 20 * time.Millisecond},
	{inserters: 4, workers: 2000, cooldown: 2 * time.Millisecond, poll: 20 * time.Millisecond},
}

// rates are jobs a second: the best, and those of River's defaults.
type rates struct {
	Inserted float64 `json:"inserted"`
	Worked   float64 `json:"worked"`
	Default  float64 `json:"worked_by_default"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: river URL JOBS")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, args[0])
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	var best rates
	for i, t := range tries {
		got, err := t.run(ctx, pool, n)
		if err != nil {
			return fmt.Errorf("%+v: %w", t, err)
		}
		if i == 0 {
			best.Default = got.Worked
		}
		best.Inserted, best.Worked = max(best.Inserted, got.Inserted), max(best.Worked, got.Worked)
	}
	return json.NewEncoder(out).Encode(best)
}

// run inserts and works n jobs.
func (t try) run(ctx context.Context, pool *pgxpool.Pool, n int) (r rates, err error) {
	if _, err := pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		return r, err
	}
	if r.Inserted, err = t.insert(ctx, pool, n); err != nil {
		return r, err
	}
	for _, sql := range []string{"VACUUM ANALYZE river_job", "CHECKPOINT"} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return r, err
		}
	}
	r.Worked, err = t.work(ctx, pool, n)
	return r, err
}

// nothing is a job that does nothing.
type nothing struct {
	Number int `json:"number"`
}

func (nothing) Kind() string { return "nothing" }

type doNothing struct{ river.WorkerDefaults[nothing] }

func (doNothing) Work(context.Context, *river.Job[nothing]) error { return nil }

// insert inserts n jobs in batches, with COPY as River does it where speed counts.
func (t try) insert(ctx context.Context, pool *pgxpool.Pool, n int) (float64, error) {
	client, err := river.NewClient[pgx.Tx](riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		return 0, err
	}
	group, within := errgroup.WithContext(ctx)
	began := time.Now()
	for part := range t.inserters {
		group.Go(func() error {
			for from := part * insertBatch; from < n; from += t.inserters * insertBatch {
				batch := make([]river.InsertManyParams, min(insertBatch, n-from))
				for i := range batch {
					batch[i].Args = nothing{from + i}
				}
				if _, err := client.InsertManyFast(within, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// work works all jobs; one has ended when River says so, which is after it is stored.
func (t try) work(ctx context.Context, pool *pgxpool.Pool, n int) (float64, error) {
	known := river.NewWorkers()
	river.AddWorker(known, doNothing{})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: t.cooldown, FetchPollInterval: t.poll,
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: t.workers}},
		Workers: known,
	})
	if err != nil {
		return 0, err
	}
	ended, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: n, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	began := time.Now()
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	for range n {
		select {
		case <-ended:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	took := time.Since(began)
	if err := client.Stop(ctx); err != nil {
		return 0, err
	}
	var done int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&done); err != nil {
		return 0, err
	}
	if done != n {
		return 0, fmt.Errorf("%d of %d jobs are completed", done, n)
	}
	return float64(n) / took.Seconds(), nil
}
