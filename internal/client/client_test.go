package client

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

// A caller who stops waiting while the answer comes is told so, and nothing is printed.
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
