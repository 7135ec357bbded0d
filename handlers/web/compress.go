package web

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/fleetboard/fleetboard/static"
)

const (
	// leastPacked is the size from which on an answer is compressed: a smaller one is a
	// single packet either way.
	leastPacked = 1024
	// packLevel takes a hundredth of a second for a megabyte of a page.
	packLevel = 6
)

var packers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, packLevel)
	if err != nil {
		panic("web: " + err.Error()) // the level is a constant
	}
	return z
}}

// AcceptsGzip reports whether the answer to a request may be compressed. It may not where
// another site made the browser send it: that site could choose what stands beside a secret and
// read from the length how well the two compress (BREACH).
func AcceptsGzip(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	return static.AcceptsGzip(r.Header)
}

// pack compresses body into out.
func pack(out *bytes.Buffer, body []byte) error {
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(out)
	if _, err := z.Write(body); err != nil {
		return err
	}
	return z.Close()
}
