package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	// drawEvery is how often a line is drawn anew on a terminal, lineEvery how often one is printed elsewhere.
	drawEvery = 200 * time.Millisecond
	lineEvery = 5 * time.Second
	// blank covers what a longer line has left.
	blank = 60
)

// progress prints how far something is.
type progress struct {
	out      io.Writer
	terminal bool
	phase    string
	printed  time.Time
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// tell takes note of a step: the phase and, where they are known, the bytes.
func (p *progress) tell(phase string, done, total int64) {
	word, _, _ := strings.Cut(phase, " ")
	every := lineEvery
	if p.terminal {
		every = drawEvery
	}
	if word == p.phase && time.Since(p.printed) < every {
		return
	}
	p.phase, p.printed = word, time.Now()
	line := phase
	switch {
	case total > 0:
		line += fmt.Sprintf(": %d of %d MB", done>>20, max(done, total)>>20)
	case done > 0:
		line += fmt.Sprintf(": %d MB", done>>20)
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r%-*s", blank, line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// end goes on below the line that was drawn.
func (p *progress) end() {
	if p.terminal && p.phase != "" {
		fmt.Fprintf(p.out, "\r%-*s\r", blank, "")
	}
}
