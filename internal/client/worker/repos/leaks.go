package repos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/redact"
)

// maxPlaces is how many places Leaks names.
const maxPlaces = 20

// Leaks looks for values in all that would leave this host with the branch: files, their
// names, and messages of commits, as far as the origin does not have them, also of what a
// later commit removed. It returns the places, as a person would name them. Little of a file
// is in memory at once.
func (w *Worktree) Leaks(ctx context.Context, s *redact.Search) (places []string, err error) {
	if s == nil || w.tip == "" {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = w.changes().eachNew(ctx, func(o object) error {
		add := func(found bool, place string) {
			if found && len(places) < maxPlaces && !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
		add(s.InText(o.path), "the name of a file")
		found, err := s.In(o.text)
		add(found, o.place())
		return err
	})
	return places, err
}

// HadBefore reports whether a text stood in the files that the attempt began from: it is no
// secret of the attempt's any more.
func (w *Worktree) HadBefore(ctx context.Context, text string) bool {
	c := w.mirror.git()
	c.stdin, c.longest = strings.NewReader(text+"\n"), clonePatience
	return text != "" && !strings.ContainsAny(text, "\n\x00") &&
		c.ok(ctx, "grep", "--quiet", "--fixed-strings", "--text", "-f", "-", w.Base)
}

// object is a file or a commit that would leave the host.
type object struct {
	name, sort string
	path       string // of a file
	text       io.Reader
}

// place is where a person finds it.
func (o object) place() string {
	if o.sort == "commit" {
		return fmt.Sprintf("the message of the commit %.12s", o.name)
	}
	return o.path
}

// eachNew calls do with each object that the branch has and the origin has not. What do leaves
// of an object is passed over.
func (c changes) eachNew(ctx context.Context, do func(object) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	list := c.mirror.git()
	list.longest = clonePatience
	names := piped(func(out io.Writer) error {
		return list.stream(ctx, out, "rev-list", "--objects", c.tip, "--not", c.base, "--glob="+theirs+"*")
	})
	defer func() { _ = names.Close() }() // ends the list
	asked, ask := io.Pipe()
	defer func() { _ = ask.Close() }() // ends the contents
	contents := c.mirror.git()
	contents.stdin, contents.longest = asked, clonePatience
	found := piped(func(out io.Writer) error { return contents.stream(ctx, out, "cat-file", "--batch") })
	defer func() { _ = found.Close() }()
	read := bufio.NewReader(found)
	lines := bufio.NewReader(names)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if _, err := io.WriteString(ask, name+"\n"); err != nil {
			return err
		}
		if err := c.oneNew(read, path, do); err != nil {
			return err
		}
	}
}

// oneNew reads an object as cat-file prints it.
func (c changes) oneNew(read *bufio.Reader, path string, do func(object) error) error {
	header, err := read.ReadString('\n')
	if err != nil {
		return err
	}
	about := strings.Fields(header)
	if len(about) != 3 {
		return nil // "… missing": it is not on this host, so it does not leave it
	}
	size, err := strconv.ParseInt(about[2], 10, 64)
	if err != nil {
		return err
	}
	text := io.LimitReader(read, size)
	o := object{name: about[0], sort: about[1], path: path, text: text}
	switch {
	case o.sort == "tree":
		o.text = bytes.NewReader(nil) // names come with the files
	case o.sort == "blob" && size <= maxPointer:
		small, err := io.ReadAll(text)
		if err != nil {
			return err
		}
		o.text = bytes.NewReader(small)
		if kept, err := os.Open(c.mirror.largeFile(pointerTo(small))); err == nil {
			defer func() { _ = kept.Close() }() // it was read
			o.text = io.MultiReader(o.text, kept)
		}
	}
	if err := do(o); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, text); err != nil {
		return err
	}
	_, err = read.ReadByte() // the end of the line
	return err
}

// piped returns what a function writes; its error ends the reading.
func piped(write func(io.Writer) error) *io.PipeReader {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(write(w)) }() // it has no error of its own
	return r
}
