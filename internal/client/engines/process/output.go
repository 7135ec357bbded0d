package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pause is how long nothing may come from a program that has ended until its output is
	// over, where a child that left the group holds the pipe; maxRest how much may come, in bytes.
	pause   = time.Second
	maxRest = 4 << 20
)

// output passes on the lines of both streams of a program, one at a time.
type output struct {
	spec    Spec
	pipes   [2]*pipe // stdout and stderr
	mu      sync.Mutex
	tail    tail
	readers sync.WaitGroup
	over    chan struct{} // closed when all has been passed on
}

// newOutput makes the pipes.
func newOutput(s Spec) (*output, error) {
	if s.MaxLine == 0 {
		s.MaxLine = MaxLine
	}
	o := &output{spec: s, over: make(chan struct{})}
	for i, stream := range []Stream{Stdout, Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			o.close()
			return nil, err
		}
		o.pipes[i] = &pipe{stream: stream, r: r, w: w, left: maxRest}
	}
	return o, nil
}

// close closes what is open, where the program did not start.
func (o *output) close() {
	for _, p := range o.pipes {
		if p != nil {
			_ = errors.Join(p.r.Close(), p.w.Close()) // nobody waits for it
		}
	}
}

// read reads both streams; the program has its own ends of the pipes.
func (o *output) read() {
	for _, p := range o.pipes {
		_ = p.w.Close() // the program has it
		o.readers.Go(func() {
			lines(p, o.spec.MaxLine, func(line []byte) { o.line(p.stream, line) })
		})
	}
	go func() {
		o.readers.Wait()
		close(o.over)
	}()
}

// finish waits until what the program printed has been passed on, now that it has ended.
func (o *output) finish() {
	for _, p := range o.pipes {
		p.ended.Store(true)
		_ = p.r.SetReadDeadline(time.Now()) // a read that waits looks at ended
	}
	<-o.over
	for _, p := range o.pipes {
		_ = p.r.Close() // all is read
	}
}

func (o *output) line(s Stream, line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	if s == Stderr {
		o.tail.add(line)
	}
	if o.spec.Line != nil {
		o.spec.Line(s, line)
	}
}

// lines passes on the lines of r, without their ends and the first limit bytes of each.
func lines(r io.Reader, limit int, tell func([]byte)) {
	in := bufio.NewReader(r)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), limit+2-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if text := bytes.TrimRight(line, "\r\n"); err == nil || len(text) > 0 {
			tell(text[:min(len(text), limit)])
		}
		if err != nil {
			return
		}
		line = line[:0]
	}
}

// pipe is one of a program's streams. Once the program has ended, it is over at its end or
// when nothing has come for a pause: another process may hold it open.
type pipe struct {
	stream Stream
	r, w   *os.File
	ended  atomic.Bool
	left   int // bytes that may come after the end
}

// Read reads from the program.
func (p *pipe) Read(into []byte) (int, error) {
	for {
		begin, ended := time.Now(), p.ended.Load()
		if ended && p.left <= 0 {
			return 0, io.EOF
		}
		if ended {
			if err := p.r.SetReadDeadline(begin.Add(pause)); err != nil {
				return 0, err
			}
		}
		n, err := p.r.Read(into)
		if ended {
			p.left -= n
		}
		// The deadline of finish has come, not that of a pause.
		if errors.Is(err, os.ErrDeadlineExceeded) && (!ended || time.Since(begin) < pause) {
			continue
		}
		return n, err
	}
}

// tail keeps the end of a text.
type tail struct{ text []byte }

func (t *tail) add(line []byte) {
	t.text = append(append(t.text, line...), '\n')
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

// String returns the text, in valid UTF-8.
func (t *tail) String() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD"))
}
