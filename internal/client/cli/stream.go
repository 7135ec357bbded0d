package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// pauseStream is how long a follower waits before it connects again.
	pauseStream = time.Second
	// longestLine bounds a line of a stream, in bytes.
	longestLine = 4 << 20
)

// follow passes on the events that come, until take says that it is enough. A connection
// that ends is made again from the last place on, so that each event comes once.
func follow(ctx context.Context, c *cli, to *api.Client, from api.StreamEventsParams,
	take func(api.Event) (bool, error)) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	away := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
		// Without retries below: a follower waits by itself, for as long as it takes.
		answer, err := to.StreamEvents(ctx, &from)
		if err == nil {
			away = false
			s := stream{lines: bufio.NewReaderSize(answer.Body, 64<<10), from: &from}
			enough, failed := s.read(take)
			_ = answer.Body.Close()
			if enough || failed != nil {
				return failed
			}
		} else if !passes(err) {
			return err
		}
		if err != nil && !away {
			away = true
			fmt.Fprintln(c.env.Err, "fleet: the server is away; this goes on when it is back")
		}
		pause.Reset(c.env.pace(pauseStream))
	}
}

// passes reports whether what went wrong may be over soon.
func passes(err error) bool { return exitCode(err) == exitUnreachable }

// stream reads server-sent events.
type stream struct {
	lines *bufio.Reader
	// from gets the place of each event that was taken.
	from *api.StreamEventsParams
}

// read takes events until take has enough or fails, or the connection ends.
func (s stream) read(take func(api.Event) (bool, error)) (enough bool, err error) {
	var data []byte
	id := ""
	for {
		line, err := s.line()
		if err != nil {
			return false, passing(err)
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if len(data) > 0 {
				var one api.Event
				if err := json.Unmarshal(data, &one); err != nil {
					return false, fmt.Errorf("the stream has something else than events: %w", err)
				}
				if enough, err := take(one); enough || err != nil {
					return enough, err
				}
			}
			if id != "" {
				place := id
				s.from.LastEventID, s.from.After = &place, nil
			}
			data, id = nil, ""
		case string(name) == "data":
			data = append(data, value...)
		case string(name) == "id":
			id = string(value)
		}
		if len(data) > longestLine {
			return false, errLongLine
		}
	}
}

var errLongLine = errors.New("an event of the stream is too long")

// line returns the next line without its end.
func (s stream) line() ([]byte, error) {
	var whole []byte
	for {
		part, more, err := s.lines.ReadLine()
		if err != nil {
			return nil, err
		}
		if whole = append(whole, part...); len(whole) > longestLine {
			return nil, errLongLine
		}
		if !more {
			return whole, nil
		}
	}
}

// passing is nil where a connection only ended.
func passing(err error) error {
	if errors.Is(err, errLongLine) {
		return err
	}
	return nil
}
