package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// idleCaller is how long a connection may lie still and be used again; the
// server closes it some time later.
const idleCaller = 30 * time.Second

// caller is a connection of one agent or person that is kept open, for one
// request at a time. Client and server share the machine, so it spends as little
// as it can: requests are laid together by hand, answers are read as they are
// and decoded only where somebody needs them. It is not for use by several at once.
type caller struct {
	ctx            context.Context
	address, token string
	conn           net.Conn
	unhook         func() bool
	in             *bufio.Reader
	out, head, got []byte
	used           time.Time
	plain          *http.Client // makes the calls instead, where it is set
}

// answer is valid until the caller's next call.
type answer struct {
	status int
	head   []byte // the header's lines
	body   []byte
}

// call makes one request; a body is JSON. An error is the network's: every
// status is an answer. The end of the caller's context ends a call.
func (c *caller) call(method, path string, body []byte) (answer, error) {
	if c.plain != nil {
		return c.callPlain(method, path, body)
	}
	if err := c.open(); err != nil {
		return answer{}, err
	}
	c.out = append(append(append(append(c.out[:0], method...), ' '), path...), " HTTP/1.1\r\nHost: "...)
	c.out = append(append(append(c.out, c.address...), "\r\nAuthorization: Bearer "...), c.token...)
	if body != nil {
		c.out = append(c.out, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	}
	c.out = append(append(c.out, "\r\n\r\n"...), body...)
	_, err := c.conn.Write(c.out)
	var a answer
	if err == nil {
		a, err = c.read()
	}
	if err != nil {
		c.close()
		return answer{}, errors.Join(fmt.Errorf("%s %s: %w", method, path, err), c.ctx.Err())
	}
	if c.used = time.Now(); bytes.EqualFold(a.header("Connection"), []byte("close")) {
		c.close()
	}
	return a, nil
}

// callPlain is call as most programs would make it.
func (c *caller) callPlain(method, path string, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(c.ctx, method, "http://"+c.address+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	got, err := c.plain.Do(r)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(got.Body)
	return answer{status: got.StatusCode, body: text}, errors.Join(err, got.Body.Close())
}

// shareClient lets agents make their calls with one client of net/http.
func shareClient(agents []*agent) {
	shared := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(agents)}}
	for _, a := range agents {
		a.plain = shared
	}
}

// must is call where any status but those wanted is an error.
func (c *caller) must(method, path string, body []byte, want ...int) (answer, error) {
	a, err := c.call(method, path, body)
	if err == nil && !slices.Contains(want, a.status) {
		err = fmt.Errorf("%s %s: status %d: %.500s", method, path, a.status, a.body)
	}
	return a, err
}

func (c *caller) open() error {
	if c.conn != nil && time.Since(c.used) < idleCaller {
		return nil
	}
	c.close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(c.ctx, "tcp", c.address)
	if err != nil {
		return err
	}
	c.conn, c.used = conn, time.Now()
	c.unhook = context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	if c.in == nil {
		c.in = bufio.NewReader(conn)
	}
	c.in.Reset(conn)
	return nil
}

// close ends the connection; the next call opens another one.
func (c *caller) close() {
	if c.conn != nil {
		c.unhook()
		_ = c.conn.Close()
		c.conn = nil
	}
}

// read reads one answer: its length is given, or it comes in chunks.
func (c *caller) read() (answer, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return answer{}, err
	}
	var status int
	if fields := bytes.Fields(line); len(fields) > 1 {
		status, err = strconv.Atoi(string(fields[1]))
	}
	if err != nil || status < 200 {
		return answer{}, fmt.Errorf("an answer begins with %q", line)
	}
	c.head, c.got = c.head[:0], c.got[:0]
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return answer{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		c.head = append(c.head, line...)
	}
	a := answer{status: status, head: c.head}
	switch length := a.header("Content-Length"); {
	case len(length) > 0:
		n, err := strconv.Atoi(string(length))
		if err != nil {
			return answer{}, err
		}
		if err := c.take(n); err != nil {
			return answer{}, err
		}
	case bytes.Equal(a.header("Transfer-Encoding"), []byte("chunked")):
		if err := c.takeChunks(); err != nil {
			return answer{}, err
		}
	}
	a.body = c.got
	return a, nil
}

// take reads n more bytes of the body.
func (c *caller) take(n int) error {
	from := len(c.got)
	c.got = slices.Grow(c.got, n)[:from+n]
	_, err := io.ReadFull(c.in, c.got[from:])
	return err
}

func (c *caller) takeChunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := c.take(int(n)); err != nil {
			return err
		}
		if _, err := c.in.Discard(len("\r\n")); err != nil || n == 0 {
			return err
		}
	}
}

// header returns the value of a header, empty where the answer has none.
func (a answer) header(name string) []byte {
	for rest := a.head; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if key, value, ok := bytes.Cut(line, []byte(":")); ok && len(key) == len(name) && bytes.EqualFold(key, []byte(name)) {
			return bytes.TrimSpace(value)
		}
	}
	return nil
}
