package redact

import "encoding/json"

// shortBatch bounds the values whose forms are held at a time, in bytes.
const shortBatch = 16 << 10

// Short takes values out of short texts, in place. However many values there are, it
// holds the forms of few of them at a time.
func Short(values []json.RawMessage, texts ...*string) {
	for len(values) > 0 {
		n, size := 0, 0
		for n < len(values) && (n == 0 || size+len(values[n]) <= shortBatch) {
			size += len(values[n])
			n++
		}
		red := New(values[:n]...)
		for _, text := range texts {
			*text = red.Text(*text)
		}
		values = values[n:]
	}
}
