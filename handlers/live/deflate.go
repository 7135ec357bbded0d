package live

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

// piece is a part of a stream. It is compressed once, for all readers that it goes out to:
// a block that refers to nothing before it and ends with a whole byte fits into each of their
// streams. So a stream keeps no window of its own, and a thousand of them no megabytes.
type piece struct {
	plain  []byte
	once   sync.Once
	packed []byte
}

// packLevel takes some ten microseconds for the message of a change.
const packLevel = 6

var packers = sync.Pool{New: func() any {
	z, err := flate.NewWriter(nil, packLevel)
	if err != nil {
		panic("live: " + err.Error()) // the level is a constant
	}
	return z
}}

func (t *piece) block() []byte {
	t.once.Do(func() {
		z := packers.Get().(*flate.Writer)
		defer packers.Put(z)
		var out bytes.Buffer
		z.Reset(&out)
		// Nothing fails that is written into memory.
		_, _ = z.Write(t.plain)
		_ = z.Flush()
		t.packed = out.Bytes()
	})
	return t.packed
}

// gzipHead is the head of a gzip file without a name and a time.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// lastBlock is an empty block that ends a deflate stream.
var lastBlock = []byte{3, 0}

// gzipTail adds up what a gzip file ends with.
type gzipTail struct{ sum, size uint32 }

func (g *gzipTail) add(plain []byte) {
	g.sum = crc32.Update(g.sum, crc32.IEEETable, plain)
	g.size += uint32(len(plain)) //nolint:gosec // modulo 2³², as the format has it
}

func (g *gzipTail) bytes() []byte {
	out := bytes.Clone(lastBlock)
	out = binary.LittleEndian.AppendUint32(out, g.sum)
	return binary.LittleEndian.AppendUint32(out, g.size)
}
