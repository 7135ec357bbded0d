package blob

import (
	"bytes"
	"image"
	_ "image/gif"  // what is shown
	_ "image/jpeg" // what is shown
	_ "image/png"  // what is shown
	"io"
	"unicode/utf8"
)

const (
	// maxPixels bounds the pictures that browsers are given to show: a small file may hold a huge one.
	maxPixels = 40_000_000
	// maxLooked is how much of a content tells whether it is a text, in bytes.
	maxLooked = 4096
)

// findKind returns the media type with which a content may be shown, "" for none, and leaves it at its beginning.
func findKind(content io.ReadSeeker) (kind string, err error) {
	config, format, bad := image.DecodeConfig(content)
	if bad == nil && config.Width*config.Height <= maxPixels {
		kind = "image/" + format
	}
	if _, err = content.Seek(0, io.SeekStart); err != nil || bad == nil {
		return kind, err
	}
	begin, err := io.ReadAll(io.LimitReader(content, maxLooked))
	if err != nil {
		return "", err
	}
	if _, err = content.Seek(0, io.SeekStart); err == nil && isText(begin) {
		kind = "text/plain; charset=utf-8"
	}
	return kind, err
}

// isText reports whether the beginning of a content is a text, whose last character may be cut.
func isText(begin []byte) bool {
	for cut := 0; cut < utf8.UTFMax && cut <= len(begin); cut++ {
		if utf8.Valid(begin[:len(begin)-cut]) {
			return !bytes.ContainsRune(begin, 0)
		}
	}
	return false
}
