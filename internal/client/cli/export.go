package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func busCommand(c *cli) *cobra.Command {
	return group("bus", "Messages and events, written elsewhere",
		append(c.verbsBelow("bus"), busExport(c), busTail(c), busReset(c), busRemove(c))...)
}

func printExports(s *screen, w io.Writer, reply api.ExportList) {
	t := s.table("NAME", "SOURCE", "POSITION", "BY", "LAST")
	for _, e := range reply.Items {
		t.row(e.Name, e.Source, e.Position, e.CreatedBy, s.agoOrEmpty(e.AckedAt))
	}
	t.print(w)
}

func printArchives(s *screen, w io.Writer, reply api.ArchiveList) {
	t := s.table("FIRST", "LAST", "MESSAGES", "WHEN", "BYTES", "BLOB")
	for _, a := range reply.Items {
		t.row(a.FirstSeq, a.LastSeq, a.Messages, s.ago(a.At), a.Size, a.Blob)
	}
	t.print(w)
}

func busReset(c *cli) *cobra.Command {
	return &cobra.Command{Use: "reset NAME [POSITION]", Args: cobra.RangeArgs(1, 2), Annotations: calls("resetExport"),
		Short: "Move an export back to a position, or to the beginning",
		Long: "Moves an export back to a position that a line of its file has, or without one to the beginning. What follows is given\n" +
			"out again, to another file: a file that has it already is refused from then on.",
		RunE: callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
			return server.ResetExport(ctx, args[0], api.ExportReset{Position: strings.Join(args[1:], "")})
		}, func(_ *screen, w io.Writer, e api.Export) {
			place := e.Position
			if place == "" {
				place = "the beginning"
			}
			fmt.Fprintf(w, "%s goes on from %s.\n", e.Name, place)
		})}
}

func busRemove(c *cli) *cobra.Command {
	var confirmed string
	cmd := &cobra.Command{Use: "remove NAME --confirm NAME", Args: cobra.ExactArgs(1), Annotations: calls("deleteExport"),
		Short: "Remove an export; messages are not kept for it any more"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		server, err := c.connect()
		if err != nil {
			return err
		}
		if _, err := read(server.DeleteExport(cmd.Context(), args[0], &api.DeleteExportParams{Confirm: some(confirmed)})); err != nil {
			return err
		}
		c.say("The export %s is gone.\n", cleanLine(args[0]))
		return nil
	}
	cmd.Flags().StringVar(&confirmed, "confirm", "", "its `name`, once more")
	return cmd
}

// export is what is written where.
type export struct {
	source, file string
	follow       bool
}

func busExport(c *cli) *cobra.Command {
	var e export
	cmd := &cobra.Command{Use: "export NAME", Args: cobra.ExactArgs(1), Annotations: calls("createExport", "readExport", "ackExport"),
		Short: "Append messages or events to a file, a line each, and go on from there the next time",
		Long: "Appends messages, or with --source events the log, to a file, one JSON object in each line, oldest first. The server\n" +
			"keeps the position under the name; it moves on once the lines are on the disk. After a crash each line is in the file\n" +
			"once."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return e.run(cmd.Context(), c, args[0]) }
	flags := cmd.Flags()
	flags.StringVar(&e.source, "source", "messages", "`what`: messages or events")
	flags.StringVarP(&e.file, "output", "o", "", "`file`; by default NAME.jsonl in this folder")
	flags.BoolVarP(&e.follow, "follow", "f", false, "go on with those that come")
	return cmd
}

// pageOfExport is how many lines are read and synced at once.
const pageOfExport = 200

func (e export) run(ctx context.Context, c *cli, name string) error {
	server, err := c.connect()
	if err != nil {
		return err
	}
	if e.file == "" {
		e.file = name + ".jsonl"
	}
	unlock := flock.New(e.file + ".lock")
	if held, err := unlock.TryLock(); err != nil || !held {
		return fail(exitRefused, "another process writes %s", e.file)
	}
	defer func() { _ = unlock.Close() }()
	if _, err := read(server.CreateExport(ctx, api.NewExport{Name: name, Source: api.NewExportSource(e.source)})); err != nil {
		return err
	}
	out, last, err := openExport(e.file)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // what matters was synced
	if last != "" {
		// It was on the disk, and perhaps the server does not know.
		if _, err := read(server.AckExport(ctx, name, api.ExportAck{Position: last})); err != nil {
			return err
		}
	}
	step := func(ctx context.Context) (int, error) {
		n, place, err := exportPage(ctx, server, name, last, out)
		last = place
		return n, err
	}
	if !e.follow {
		for {
			if n, err := step(ctx); err != nil || n == 0 {
				return err
			}
		}
	}
	return c.persist(ctx, func(ctx context.Context) error {
		n, err := step(ctx)
		if err == nil && n == 0 {
			return errNothingYet
		}
		return err
	})
}

// exportPage appends the page that follows last, the position of the last line in the file,
// syncs it, and then moves the export on. It gives how many lines it wrote, and the position
// of the last line that the file has now, also where the server could not be reached.
func exportPage(ctx context.Context, server *api.Client, name, last string, out *os.File) (n int, place string, err error) {
	most := pageOfExport
	_, page, err := readInto[struct {
		Items    []json.RawMessage `json:"items"`
		Position string            `json:"position"`
	}](server.ReadExport(ctx, name, &api.ReadExportParams{Limit: &most, After: some(last)}))
	if err != nil || len(page.Items) == 0 {
		return 0, last, err
	}
	var lines bytes.Buffer
	for _, item := range page.Items {
		if err := json.Compact(&lines, item); err != nil {
			return 0, last, err
		}
		lines.WriteByte('\n')
	}
	if _, err := out.Write(lines.Bytes()); err != nil {
		return 0, last, err
	}
	if err := out.Sync(); err != nil {
		return 0, last, err
	}
	_, err = read(server.AckExport(ctx, name, api.ExportAck{Position: page.Position}))
	return len(page.Items), page.Position, err
}

// openExport opens a file to append to, takes off a line that was broken off, and gives the
// position of the last whole one.
func openExport(path string) (file *os.File, last string, err error) {
	file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, "", err
	}
	whole, line, err := lastLine(file)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	var reply struct{ Position string }
	if err == nil && len(line) > 0 {
		if err = json.Unmarshal(line, &reply); err != nil || reply.Position == "" {
			err = fail(exitRefused, "%s is not what an export has written; name another file with --output", path)
		}
	}
	if err != nil {
		_ = file.Close() // the error is reported
		return nil, "", err
	}
	return file, reply.Position, nil
}

// lastLine reads how many bytes of a file are whole lines, and the last of them.
func lastLine(r io.Reader) (whole int64, last []byte, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, last, nil
		}
		if err != nil {
			return 0, nil, err
		}
		whole, last = whole+int64(len(line)), line
	}
}

func busTail(c *cli) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{Use: "tail NAME", Args: cobra.ExactArgs(1), Annotations: calls("readExport"),
		Short: "Show what an export has not written yet, without moving it on"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		server, err := c.connect()
		if err != nil {
			return err
		}
		after := ""
		step := func(ctx context.Context) error {
			most := pageOfExport
			_, page, err := readInto[api.ExportPage](
				server.ReadExport(ctx, args[0], &api.ReadExportParams{Limit: &most, After: some(after)}),
			)
			if err != nil {
				return err
			}
			if len(page.Items) == 0 {
				return errNothingYet
			}
			after = page.Position
			return c.exportLines(page.Items)
		}
		if follow {
			return c.persist(cmd.Context(), step)
		}
		for err == nil {
			err = step(cmd.Context())
		}
		if errors.Is(err, errNothingYet) {
			return nil
		}
		return err
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	return cmd
}

// exportLines prints lines of an export.
func (s *screen) exportLines(items []api.ExportLine) error {
	for _, item := range items {
		var err error
		switch {
		case s.json:
			err = s.printRaw(item)
		case item.Message != nil:
			err = s.messageLine(*item.Message)
		case item.Event != nil:
			err = s.eventLine(*item.Event)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errNothingYet is a step of persist that found nothing.
var errNothingYet = errors.New("there is nothing yet")

// persistPause is how long persist waits where there is nothing yet, or the server is away.
const persistPause = time.Second

// persist repeats a step until ctx ends, also while the server is away.
func (c *cli) persist(ctx context.Context, step func(ctx context.Context) error) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	away := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
		wait := c.env.pace(persistPause)
		switch err := step(ctx); {
		case err == nil:
			away, wait = false, 0
		case errors.Is(err, errNothingYet):
			away = false
		case ctx.Err() != nil:
			return ctx.Err()
		case !passes(err):
			return err
		case !away:
			away = true
			fmt.Fprintln(c.env.Err, "fleet: the server is away; this goes on when it is back")
		}
		pause.Reset(wait)
	}
}
