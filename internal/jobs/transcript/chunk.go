package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// MaxChunk is how many bytes a chunk has at most before it is compressed, unless one call wrote more.
const MaxChunk = 1 << 20

// largeChunk is from how many bytes on a chunk is compressed with more care: it stays, and smaller ones are soon
// replaced.
const largeChunk = 64 << 10

// maxDecoded bounds what is unpacked of a chunk: a call has at most 5 MB.
const maxDecoded = 16 << 20

var (
	fastPacker, goodPacker = newPacker(zstd.SpeedDefault), newPacker(zstd.SpeedBetterCompression)
	unpacker               = newUnpacker()
)

func newPacker(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(MaxChunk),
		zstd.WithEncoderCRC(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}

func newUnpacker() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxDecoded))
	if err != nil {
		panic(err)
	}
	return d
}

// chunk is a row of steps.
type chunk struct {
	first, last int64
	size        int // before they are compressed
	kinds       int
	data        []byte
}

// lines returns steps as lines of JSON.
func lines(steps []Step) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, s := range steps {
		if err := encoder.Encode(s); err != nil {
			return nil, fmt.Errorf("encode step %d: %w", s.N, err)
		}
	}
	return text.Bytes(), nil
}

// pack compresses the lines of a chunk.
func pack(text []byte) []byte {
	if len(text) < largeChunk {
		return fastPacker.EncodeAll(text, nil)
	}
	return goodPacker.EncodeAll(text, nil)
}

// unpack returns the lines of a chunk.
func unpack(data []byte) ([]byte, error) {
	text, err := unpacker.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack a chunk of steps: %w", err)
	}
	return text, nil
}

// read returns the steps of a chunk's lines behind a step. Each line begins with the step's number.
func read(text []byte, after int64) (steps []Step, err error) {
	for line := range bytes.Lines(text) {
		number, _, _ := bytes.Cut(bytes.TrimPrefix(line, []byte(`{"n":`)), []byte(","))
		if n, err := strconv.ParseInt(string(number), 10, 64); err == nil && n <= after {
			continue
		}
		var s Step
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("read a step: %w", err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// tailChunk is a chunk at the end of a transcript, without its steps.
type tailChunk struct {
	first int64
	size  int
}

// maxTail is how many chunks at the end are looked at: more than that are never small.
const maxTail = 24

// absorbed returns how many of the last chunks, the last first, a new one of a size takes the place of.
func absorbed(tail []tailChunk, size int) int {
	for i, t := range tail {
		if t.size > size || t.size+size > MaxChunk {
			return i
		}
		size += t.size
	}
	return len(tail)
}

// merge returns one chunk of the packed ones, in the order of their steps, and of new lines behind them.
func merge(packed [][]byte, text []byte) ([]byte, error) {
	all := make([][]byte, 0, len(packed)+1)
	for _, data := range packed {
		part, err := unpack(data)
		if err != nil {
			return nil, err
		}
		all = append(all, part)
	}
	return slices.Concat(append(all, text)...), nil
}
