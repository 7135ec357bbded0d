package live

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// A reader sees each piece as soon as it is there, in streams that other pieces went into
// before, and at the end a whole file.
func TestPiecesFitIntoEveryStream(t *testing.T) {
	pieces := []*piece{{plain: []byte(":\n\n")}, {plain: []byte("data: " + strings.Repeat("<li>card</li>", 4000) + "\n\n")},
		{plain: []byte("data: \x00\xff\n\n")}, {}}
	for from := range pieces {
		stream, tail := bytes.NewBuffer(bytes.Clone(gzipHead)), &gzipTail{}
		read, err := gzip.NewReader(stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces[from:] {
			stream.Write(p.block())
			tail.add(p.plain)
			got := make([]byte, len(p.plain))
			if _, err := io.ReadFull(read, got); err != nil || !bytes.Equal(got, p.plain) {
				t.Fatalf("read %d bytes of %d, %v", len(got), len(p.plain), err)
			}
		}
		stream.Write(tail.bytes())
		if rest, err := io.ReadAll(read); err != nil || len(rest) > 0 {
			t.Errorf("the end is %q, %v", rest, err)
		}
	}
}

// A stream that is cut off is not taken for a whole one.
func TestAStreamCutOffIsNoWholeOne(t *testing.T) {
	p := &piece{plain: []byte("data: a\n\n")}
	read, err := gzip.NewReader(bytes.NewReader(append(bytes.Clone(gzipHead), p.block()...)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(read); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it ends with %v", err)
	}
}
