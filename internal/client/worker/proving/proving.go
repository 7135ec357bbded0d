// Package proving reads what a proof command has written: files whose names begin with the number of an
// acceptance criterion. The command is a program of the author, so nothing in its directory is believed: only
// regular files are read, of a bounded size and number, and what is left out is said.
package proving

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// Limits of what a command may write: so many bytes of a file, and of all together.
const (
	MaxFile = 8 << 20
	MaxAll  = 32 << 20
	// maxLooked is how many names in the directory are looked at, maxTold how many left out files are named.
	maxLooked = 1000
	maxTold   = 20
	// maxName bounds a file's name where it is told, in characters.
	maxName = 100
)

// File is a proof: a file for a criterion.
type File struct {
	Criterion, Title string
	Content          []byte
}

// Reader reads proofs.
type Reader struct {
	Acceptance []string
	// Secret takes secrets out of texts, Search finds them where nothing can be taken out.
	Secret *redact.Redactor
	Search *redact.Search
}

// Files returns the proofs in a directory, by their criteria, and a sentence for each file that is none; the
// directory was opened before the command ran, so that it is the same one.
func (r Reader) Files(dir *os.Root) (files []File, left []string) {
	names, more := list(dir)
	if more {
		left = append(left, fmt.Sprintf("There are more than %d files; the rest was not looked at.", maxLooked))
	}
	untold, room := 0, MaxAll
	for _, name := range names {
		f, err := r.read(dir, name, room)
		if err == nil && len(files) >= api.MaxCompletionProofs {
			err = fmt.Errorf("there are %d proofs already", len(files))
		}
		switch {
		case err == nil:
			files, room = append(files, f), room-len(f.Content)
		case len(left) < maxTold:
			left = append(left, fmt.Sprintf("%s is left out: %v.", r.show(name, maxName), err))
		default:
			untold++
		}
	}
	if untold > 0 {
		left = append(left, fmt.Sprintf("%d more are left out.", untold))
	}
	return files, left
}

// show returns a name as a text in one line, without secrets.
func (r Reader) show(name string, limit int) string {
	return r.Secret.Cut(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(name, "?")), limit)
}

// list returns the names in a directory, by the numbers that they begin with.
func list(dir *os.Root) (names []string, more bool) {
	at, err := dir.Open(".")
	if err != nil {
		return nil, false // it is gone
	}
	defer func() { _ = at.Close() }() // it was read
	names, _ = at.Readdirnames(maxLooked + 1)
	more = len(names) > maxLooked
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b)) })
	return names[:min(len(names), maxLooked)], more
}

// named is the name of a file for a criterion: 1.png, 2-report.txt, 03_log.
var named = regexp.MustCompile(`(?s)^0*([1-9][0-9]?)([^0-9].*)?$`)

// number returns that of the criterion that a file is for, 0 for none.
func number(name string) int {
	found := named.FindStringSubmatch(name)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // two digits
	return n
}

// read reads a file for a criterion. It follows no link, and waits for nobody who writes.
func (r Reader) read(dir *os.Root, name string, room int) (f File, err error) {
	n := number(name)
	if n == 0 {
		return f, errors.New("its name does not begin with the number of a criterion")
	}
	if n > len(r.Acceptance) {
		return f, fmt.Errorf("the job has %d criteria", len(r.Acceptance))
	}
	if info, err := dir.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return f, errors.New("it is no regular file")
	}
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return f, errors.New("it cannot be read")
	}
	defer func() { _ = file.Close() }() // it was read
	f.Criterion, f.Title = r.Acceptance[n-1], r.show(name, api.MaxCompletionProofTitle)
	f.Content, err = r.content(file, room)
	return f, err
}

// content reads a file that is open, without secrets.
func (r Reader) content(file *os.File, room int) ([]byte, error) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() { // it was another one a moment ago
		return nil, errors.New("it is no regular file")
	}
	raw := []byte{}
	if info.Size() <= MaxFile {
		raw, err = io.ReadAll(io.LimitReader(file, MaxFile+1))
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrClosed):
		return nil, errors.New("it cannot be read")
	case info.Size() > MaxFile || len(raw) > MaxFile:
		return nil, fmt.Errorf("a proof has at most %d MB", MaxFile>>20)
	case len(raw) > room:
		return nil, fmt.Errorf("all proofs have at most %d MB together", MaxAll>>20)
	case len(raw) == 0:
		return nil, errors.New("it is empty")
	}
	if utf8.Valid(raw) {
		return []byte(r.Secret.Text(string(raw))), nil
	}
	if found, err := r.Search.In(bytes.NewReader(raw)); found || err != nil {
		return nil, errors.New("the value of a secret stands in it")
	}
	return raw, nil
}
