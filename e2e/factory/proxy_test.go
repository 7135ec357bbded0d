package factory

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between a worker and the server, and can be cut.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, conns: map[net.Conn]bool{}}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.set(true)
		p.all.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.pass(conn) })
	}
}

// pass passes bytes both ways until one side ends, or the proxy is cut.
func (p *proxy) pass(near net.Conn) {
	far, err := net.Dial("tcp", p.to) //nolint:noctx // it is closed when the proxy is cut
	if err != nil || !p.keep(near, far) {
		_ = near.Close()
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // the end of one is that of both
			_, _ = near.Close(), far.Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, near)
	delete(p.conns, far)
}

// keep notes connections that are to be cut; it reports false while the proxy is cut.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.cut {
			_ = c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.cut
}

// set cuts the proxy, or mends it.
func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	if cut {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}
