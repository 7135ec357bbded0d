package replication

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// LSN is a place in the write-ahead log, in bytes from its beginning.
type LSN uint64

// ParseLSN reads a place as PostgreSQL writes it, such as 16/B374D848.
func ParseLSN(text string) (LSN, error) {
	high, low, found := strings.Cut(text, "/")
	a, errHigh := strconv.ParseUint(high, 16, 32)
	b, errLow := strconv.ParseUint(low, 16, 32)
	if !found || errHigh != nil || errLow != nil {
		return 0, fmt.Errorf("%q is not a place in the write-ahead log", text)
	}
	return LSN(a<<32 | b), nil
}

// String returns the place as PostgreSQL writes it.
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint64(l)>>32, uint32(l)) } //nolint:gosec // the lower half

// Segment returns the place where the segment that has l begins; size is that of a segment in bytes.
func (l LSN) Segment(size int64) LSN { return l - l%LSN(size) } //nolint:gosec // a size

// Plus returns the place so many bytes behind l.
func (l LSN) Plus(bytes int64) LSN { return l + LSN(bytes) } //nolint:gosec // a size

// SegmentName returns the file name of the segment that begins at l.
func SegmentName(timeline uint32, l LSN, size int64) string {
	number, share := uint64(l)/uint64(size), perID(size) //nolint:gosec // a size
	return fmt.Sprintf("%08X%08X%08X", timeline, number/share, number%share)
}

// ParseSegmentName returns where a segment of that file name begins.
func ParseSegmentName(name string, size int64) (timeline uint32, begins LSN, err error) {
	raw, err := hex.DecodeString(name)
	if err != nil || len(raw) != 12 {
		return 0, 0, fmt.Errorf("%q is not the name of a segment of the write-ahead log", name)
	}
	part := func(i int) uint64 {
		return uint64(raw[i])<<24 | uint64(raw[i+1])<<16 | uint64(raw[i+2])<<8 | uint64(raw[i+3])
	}
	return uint32(part(0)), LSN((part(4)*perID(size) + part(8)) * uint64(size)), nil //nolint:gosec // four bytes, a size
}

// perID is how many segments share the middle part of their names.
func perID(size int64) uint64 { return 1 << 32 / uint64(size) } //nolint:gosec // a size
