package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	publishers = 16
	batch      = 100
	patience   = 30 * time.Second
)

// rates are messages a second that are on the disk, each published and acknowledged by
// itself, and a hundred at once.
type rates struct {
	Single  float64 `json:"single"`
	Batches float64 `json:"batches"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: nats DIR MESSAGES")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	// Each message is synced, as a commit is.
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: args[0], SyncAlways: true,
		NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	go s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(patience) {
		return errors.New("the server is not ready")
	}
	var r rates
	if r.Single, err = publish(ctx, s.ClientURL(), n, 1); err != nil {
		return err
	}
	if r.Batches, err = publish(ctx, s.ClientURL(), n, batch); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// publish sends n messages to a stream of their own, so many at once, and gives how many a
// second.
func publish(ctx context.Context, address string, n, each int) (float64, error) {
	name := "bench-" + strconv.Itoa(each)
	first, js, err := connect(address)
	if err != nil {
		return 0, err
	}
	defer first.Close()
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage})
	if err != nil {
		return 0, err
	}
	all, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for p := range publishers {
		all.Go(func() error { return publisher(ctx, address, name, p, n, each) })
	}
	err = all.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}

// publisher sends one publisher's part.
func publisher(ctx context.Context, address, name string, p, n, each int) error {
	conn, js, err := connect(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	for i := p * each; i < n; i += publishers * each {
		if each == 1 {
			if _, err := js.Publish(ctx, name+".agent-"+strconv.Itoa(i%1000), text(i)); err != nil {
				return err
			}
			continue
		}
		for k := range each {
			if _, err := js.PublishAsync(name+".agent-"+strconv.Itoa((i+k)%1000), text(i+k)); err != nil {
				return err
			}
		}
		select {
		case <-js.PublishAsyncComplete():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func connect(address string) (*nats.Conn, jetstream.JetStream, error) {
	conn, err := nats.Connect(address)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	return conn, js, err
}

// text returns a message as the bench sends it to Fleetboard.
func text(n int) []byte {
	return fmt.Appendf(
		nil,
		`{"type":"custom.bench","correlation_id":"bench-%d","payload":{"n":%d,"text":"the build of branch %d is green"}}`,
		n, n, n,
	)
}
