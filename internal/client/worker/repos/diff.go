package repos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxPatch is how much of a patch is shown, in bytes, maxWhole how much of it is kept,
	// and maxFiles how many files are named.
	maxPatch = 100 << 10
	maxWhole = 64_000_000
	maxFiles = 1000
	// maxConflicts is how many places with markers of conflicts are reported, and how many files
	// of Git LFS without contents.
	maxConflicts = 20
)

// Diff is what an attempt changed. However much that is, little of it is in memory.
type Diff struct {
	Files          []string // as git has their names, at most maxFiles
	Count          int      // of all files
	Added, Deleted int      // lines
	// Conflicts are places, as FILE:LINE, where markers of a conflict were left; at most
	// maxConflicts of the ConflictCount that there are.
	Conflicts     []string
	ConflictCount int
	// Missing are new files of Git LFS whose contents are not on this host, so that they cannot
	// be pushed; at most maxConflicts of MissingCount.
	Missing      []string
	MissingCount int
	// Patch is cut at maxPatch; Truncated says so. It is Mended where it was no text in UTF-8.
	Patch     string
	Truncated bool
	Mended    bool
	// Whole is the file that holds the patch where Patch is cut, until the worktree is closed.
	// It is Cut at a size that the server may take.
	Whole string
	Cut   bool
}

// changes is what a branch of a mirror has that its base has not.
type changes struct {
	mirror    *mirror
	base, tip string
}

func (w *Worktree) changes() changes { return changes{w.mirror, w.Base, w.tip} }

// Diff compares the branch with Base.
func (w *Worktree) Diff(ctx context.Context) (Diff, error) {
	var d Diff
	c := w.changes()
	if err := c.count(ctx, &d); err != nil {
		return Diff{}, err
	}
	if err := c.findConflicts(ctx, &d); err != nil {
		return Diff{}, err
	}
	if err := c.findMissing(ctx, &d); err != nil {
		return Diff{}, err
	}
	return d, c.writePatch(ctx, &d, filepath.Join(w.private, "patch"))
}

// diff compares, with these arguments, and writes what it finds to out. Of what is wrong with spaces it says
// nothing.
func (c changes) diff(ctx context.Context, out io.Writer, how ...string) error {
	git := c.mirror.git()
	git.longest = clonePatience
	git.settings = []setting{{"core.whitespace", "-blank-at-eol,-blank-at-eof,-space-before-tab"}}
	args := append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color"}, how...)
	return git.stream(ctx, out, append(args, c.base, c.tip, "--")...)
}

// parts reads what a comparison prints, up to each delimiter; none of it is long.
func (c changes) parts(ctx context.Context, delimiter byte, take func(part string), how ...string) error {
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := c.diff(ctx, write, how...)
		done <- errors.Join(err, write.CloseWithError(err))
	}()
	in := bufio.NewReader(read)
	for {
		part, err := in.ReadString(delimiter)
		take(strings.TrimSuffix(part, string(delimiter)))
		if err != nil {
			return <-done
		}
	}
}

// count counts files and lines.
func (c changes) count(ctx context.Context, d *Diff) error {
	return c.parts(ctx, 0, func(part string) {
		parts := strings.SplitN(part, "\t", 3)
		if len(parts) < 3 {
			return
		}
		added, _ := strconv.Atoi(parts[0]) // "-" for what is no text
		deleted, _ := strconv.Atoi(parts[1])
		d.Added, d.Deleted, d.Count = d.Added+added, d.Deleted+deleted, d.Count+1
		if len(d.Files) < maxFiles {
			d.Files = append(d.Files, parts[2])
		}
	}, "--no-renames", "--numstat", "-z")
}

// findConflicts finds what was left of conflicts in added lines.
func (c changes) findConflicts(ctx context.Context, d *Diff) error {
	err := c.parts(ctx, '\n', func(line string) {
		place, ok := strings.CutSuffix(line, ": leftover conflict marker")
		if !ok {
			return
		}
		if d.ConflictCount++; len(d.Conflicts) < maxConflicts {
			d.Conflicts = append(d.Conflicts, strings.ToValidUTF8(place, "?"))
		}
	}, "--check")
	if d.ConflictCount > 0 && status(err) == 2 { // that it has found some
		return nil
	}
	return err
}

// writePatch writes the patch into a file, and the beginning of it into d.
func (c changes) writePatch(ctx context.Context, d *Diff, whole string) error {
	file, err := os.OpenFile(whole, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	out := &bounded{to: file, left: maxWhole}
	if err := c.diff(ctx, out); err != nil && !out.full {
		return errors.Join(err, file.Close())
	}
	shown, err := io.ReadAll(io.NewSectionReader(file, 0, maxPatch+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if d.Truncated = len(shown) > maxPatch; d.Truncated {
		shown = shown[:maxPatch]
		shown = shown[:bytes.LastIndexByte(shown, '\n')+1]
		d.Whole, d.Cut = whole, out.full
	}
	d.Patch, d.Mended = strings.ToValidUTF8(string(shown), "?"), !utf8.Valid(shown)
	return nil
}

// bounded takes so many bytes.
type bounded struct {
	to   io.Writer
	left int
	full bool
}

// errFull ends a program that prints more than is wanted.
var errFull = errors.New("it is more than is kept")

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) <= b.left {
		b.left -= len(p)
		return b.to.Write(p)
	}
	b.full = true
	n, err := b.to.Write(p[:b.left])
	b.left -= n
	return n, errors.Join(err, errFull)
}
