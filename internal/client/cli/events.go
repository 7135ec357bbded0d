package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// wantedEvents are the filters of the log of events.
type wantedEvents struct {
	types      []string
	job, actor string
	since      string
	limit      int
	follow     bool
}

func eventsCommand(c *cli) *cobra.Command {
	var e wantedEvents
	cmd := &cobra.Command{Use: "events", Args: cobra.NoArgs, Short: "Show what happened, and follow what happens",
		Annotations: calls("listEvents", "streamEvents"),
		Long: "Shows the newest events, oldest first; with --since all from a time on. With --follow it goes on with those that\n" +
			"come, also when the server was away meanwhile. --json prints one event in each line."}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context(), c) }
	flags := cmd.Flags()
	flags.StringSliceVar(&e.types, "type", nil, "`type`, as job.failed or job.*; repeatable")
	flags.StringVar(&e.job, "job", "", "of this `job`")
	flags.StringVar(&e.actor, "actor", "", "by whom, as `name` or id")
	flags.StringVar(&e.since, "since", "", "from this `time` on, as 2h or 2026-11-30")
	flags.IntVar(&e.limit, "limit", 20, "how many of the newest where --since is not given")
	flags.BoolVarP(&e.follow, "follow", "f", false, "go on with those that come")
	return cmd
}

func (e wantedEvents) run(ctx context.Context, c *cli) error {
	server, err := c.connect()
	if err != nil {
		return err
	}
	from, err := c.parseInstant(e.since)
	if err != nil {
		return err
	}
	var after string
	if from == nil {
		after, err = e.newest(ctx, c, server)
	} else {
		after, err = e.all(ctx, c, server, from)
	}
	if err != nil || !e.follow {
		return err
	}
	return follow(ctx, c, server, e.stream(after), c.eventLine)
}

func (e wantedEvents) params() api.ListEventsParams {
	return api.ListEventsParams{Type: list(e.types), Job: some(e.job), Actor: some(e.actor)}
}

// stream returns the request for what comes after a place of the log.
func (e wantedEvents) stream(after string) api.StreamEventsParams {
	return api.StreamEventsParams{Type: list(e.types), Job: some(e.job), Actor: some(e.actor), After: some(after)}
}

// newest prints the newest events, the oldest of them first, and returns the place after.
func (e wantedEvents) newest(ctx context.Context, c *cli, server *api.Client) (string, error) {
	params := e.params()
	back := api.ListEventsParamsOrder("desc")
	params.Order, params.Limit = &back, &e.limit
	_, said, err := readInto[api.EventTail](server.ListEvents(ctx, &params))
	if err != nil {
		return "", err
	}
	for i := len(said.Items) - 1; i >= 0; i-- {
		if err := c.eventLine(said.Items[i]); err != nil {
			return "", err
		}
	}
	return endOfLog(ctx, server, said)
}

// endOfLog returns the place after the newest event. Where a filter finds none, it is the
// newest of all.
func endOfLog(ctx context.Context, server *api.Client, reply api.EventTail) (string, error) {
	if len(reply.Items) == 0 {
		one, back := 1, api.ListEventsParamsOrder("desc")
		var err error
		if _, reply, err = readInto[api.EventTail](server.ListEvents(ctx,
			&api.ListEventsParams{Order: &back, Limit: &one})); err != nil {
			return "", err
		}
	}
	if len(reply.Items) == 0 {
		return "", nil
	}
	return reply.Items[0].Cursor, nil
}

// all prints every event from a time on, and returns the place after the last.
func (e wantedEvents) all(ctx context.Context, c *cli, server *api.Client, from *time.Time) (string, error) {
	params := e.params()
	params.Since = from
	most := 200
	params.Limit = &most
	for {
		_, said, err := readInto[api.EventTail](server.ListEvents(ctx, &params))
		if err != nil {
			return "", err
		}
		for _, one := range said.Items {
			if err := c.eventLine(one); err != nil {
				return "", err
			}
		}
		if len(said.Items) == 0 {
			return said.NextAfter, nil
		}
		params.After = &said.NextAfter
	}
}

// eventLine prints an event: when, who, what, of which job.
func (s *screen) eventLine(one api.Event) error {
	switch {
	case s.json:
		return s.printRaw(one)
	case s.quiet:
		return nil
	}
	_, err := fmt.Fprintf(s.env.Out, "%s %s %s %s%s\n", s.paint(one.At.Local().Format("2006-01-02 15:04:05"), dim),
		s.paint(fmt.Sprintf("%-10s", cleanLine(one.Job)), blue), cleanLine(one.Type), cleanLine(one.Actor), changed(one.Changes))
	return err
}

// changed says what an event changed, of values that are short.
func changed(changes []api.Change) string {
	var reply []string
	for _, one := range changes {
		value, err := json.Marshal(one.New)
		if err != nil || one.NewSha256 != nil || len(value) > 60 || one.Field == "version" {
			continue
		}
		reply = append(reply, cleanLine(one.Field)+"="+cleanLine(escapeControls(string(value))))
		if len(reply) == 4 {
			break
		}
	}
	if len(reply) == 0 {
		return ""
	}
	return " (" + strings.Join(reply, ", ") + ")"
}

// longestLine bounds a line of a stream, in bytes.
const longestLine = 4 << 20

// follow passes on the events that come, until ctx ends. A connection that ends is made again from
// the last place on, so that each event comes once.
func follow(ctx context.Context, c *cli, server *api.Client, from api.StreamEventsParams, take func(api.Event) error) error {
	return c.persist(ctx, func(ctx context.Context) error {
		// Without retries below: a follower waits by itself, for as long as it takes.
		answer, err := server.StreamEvents(ctx, &from)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }() // it was read
		s := stream{lines: bufio.NewReaderSize(answer.Body, 64<<10), from: &from}
		if err := s.read(take); err != nil {
			return err
		}
		return errNothingYet // the connection ended
	})
}

// passes reports whether what went wrong may be over soon.
func passes(err error) bool { return exitCode(err) == exitUnreachable }

// stream reads server-sent events.
type stream struct {
	lines *bufio.Reader
	// from gets the place of each event that was taken.
	from *api.StreamEventsParams
}

// read takes events until the connection ends. The error is take's, or says what no stream of
// events has.
func (s stream) read(take func(api.Event) error) error {
	var data []byte
	id := ""
	for {
		line, err := s.line()
		if err != nil {
			return passing(err)
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if len(data) > 0 {
				var one api.Event
				if err := json.Unmarshal(data, &one); err != nil {
					return fmt.Errorf("the stream has something else than events: %w", err)
				}
				if err := take(one); err != nil {
					return err
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
			return errLongLine
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
