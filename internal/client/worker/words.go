package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// plainText returns a text as the API takes it: UTF-8 without NUL.
func plainText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
}

// plainLine returns a text in one line, without what controls terminals.
func plainLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, plainText(s))
}

// fileNames are names of files as the API takes them.
func fileNames(names []string) []string {
	told := make([]string, 0, len(names))
	for _, name := range names {
		told = append(told, fileName(name))
	}
	return told
}

// fileName returns a file's name as the API takes it. What it does not take is written as in C,
// and of one that is too long the beginning is left out.
func fileName(name string) string {
	var told strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && unicode.IsControl(r):
			told.WriteString(escapedByte(name[i]))
		case unicode.IsControl(r):
			for _, b := range []byte(name[i : i+size]) {
				told.WriteString(escapedByte(b))
			}
		case strings.ContainsRune("{,}", r): // braces have a meaning in globs
			told.WriteString(escapedByte(name[i]))
		default:
			told.WriteString(name[i : i+size])
		}
		i += size
	}
	clean := []rune(told.String())
	if len(clean) > api.MaxCompletionFilesTouchedItem {
		clean = append([]rune{'\u2026'}, clean[len(clean)-api.MaxCompletionFilesTouchedItem+1:]...)
	}
	if strings.TrimSpace(string(clean)) == "" {
		return strings.Repeat(`\040`, len(clean))
	}
	return string(clean)
}

// escapedByte writes a byte as in C.
func escapedByte(b byte) string {
	if i := strings.IndexByte("\a\b\t\n\v\f\r", b); i >= 0 {
		return `\` + string("abtnvfr"[i])
	}
	return fmt.Sprintf(`\%03o`, b)
}

// withoutSecrets reads a file without the values of secrets, little of it at a time.
type withoutSecrets struct {
	file   *os.File
	secret *redact.Redactor
	block  []byte
	ready  []byte
	err    error
}

// blockSize is how much of a file is looked through at once, in bytes.
const blockSize = 256 << 10

// Read reads whole lines as long as they are not longer than a block.
func (f *withoutSecrets) Read(into []byte) (int, error) {
	for len(f.ready) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.fill()
	}
	n := copy(into, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

func (f *withoutSecrets) fill() {
	rest := len(f.block)
	f.block = append(f.block, make([]byte, blockSize-rest)...)
	n, err := io.ReadFull(f.file, f.block[rest:])
	f.block = f.block[:rest+n]
	end := len(f.block)
	if err != nil {
		f.err = err
		if errors.Is(err, io.ErrUnexpectedEOF) {
			f.err = io.EOF
		}
	} else if at := strings.LastIndexByte(string(f.block), '\n'); at >= 0 {
		end = at + 1
	}
	lines := strings.Split(strings.ToValidUTF8(string(f.block[:end]), "?"), "\n")
	f.ready = []byte(strings.Join(f.secret.Lines(lines), "\n"))
	f.block = append([]byte(nil), f.block[end:]...)
}
