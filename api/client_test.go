package api

import (
	"bytes"
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"testing"
)

// A caller who stops waiting while the answer comes gets an error, and nothing is printed.
func TestAnInterruptedCallIsSilent(t *testing.T) {
	var said bytes.Buffer
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	d := newDoer(Options{Retries: 1})
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: cancel})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := d.Do(r)
		if err == nil {
			_ = answer.Body.Close()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		cancel()
	}
	if said.Len() > 0 {
		t.Errorf("it printed %s", said.String())
	}
}

// A page that a proxy answers for the server is no answer of the API, whatever its status.
func TestAPageIsNoAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<h1>Log in to the network</h1>"))
	}))
	defer server.Close()
	c, err := New(server.URL, "token", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var gone *Unreachable
	if got, err := c.ListProductsWithResponse(t.Context(), nil); !errors.As(err, &gone) || !errors.Is(err, errPage) {
		t.Errorf("%+v, %v; want the server to be out of reach", got, err)
	}
}
