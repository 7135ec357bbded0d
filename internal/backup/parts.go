package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// partSize is how many bytes a part has at most: it is held in memory.
const partSize = 16 << 20

// Progress is told of each step: which phase it is, and how many bytes are done of how many; total is 0
// where nobody knows.
type Progress func(phase string, done, total int64)

// partWriter writes an archive in parts.
type partWriter struct {
	ctx     context.Context // io.Writer has none
	store   Store
	id      string
	archive string
	list    *[]Part

	buffer []byte
	parts  int
}

// Write gathers bytes to parts.
func (w *partWriter) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		if w.buffer == nil {
			w.buffer = make([]byte, 0, partSize)
		}
		fits := min(len(data), partSize-len(w.buffer))
		w.buffer = append(w.buffer, data[:fits]...)
		data = data[fits:]
		if len(w.buffer) == partSize {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// Close writes the last part.
func (w *partWriter) Close() error {
	if len(w.buffer) == 0 && w.parts > 0 {
		return nil
	}
	return w.flush()
}

func (w *partWriter) flush() error {
	w.parts++
	p := Part{Name: fmt.Sprintf("%s.%05d", w.archive, w.parts), Size: int64(len(w.buffer)), SHA256: digest(w.buffer)}
	if err := w.store.Put(w.ctx, w.id+"/"+p.Name, w.buffer); err != nil {
		return err
	}
	*w.list = append(*w.list, p)
	w.buffer = w.buffer[:0]
	return nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// readPart reads a part, and refuses one that is not what was written.
func readPart(ctx context.Context, store Store, id string, p Part) ([]byte, error) {
	content, err := store.Get(ctx, id+"/"+p.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, damage("%s of the backup %s is missing", p.Name, id)
	case err != nil:
		return nil, err
	case int64(len(content)) != p.Size || digest(content) != p.SHA256:
		return nil, damaged(id + "/" + p.Name)
	}
	return content, nil
}

// partReader reads an archive part by part.
type partReader struct {
	ctx   context.Context // io.Reader has none
	store Store
	id    string
	parts []Part // that follow
	rest  []byte // of the present one
	told  func(bytes int64)
}

// readArchive returns a reader of an archive; told is called with the size of each part that was read.
func readArchive(ctx context.Context, store Store, m Manifest, archive string, told func(bytes int64)) io.Reader {
	r := &partReader{ctx: ctx, store: store, id: m.ID, told: told}
	for _, p := range m.Parts {
		if strings.HasPrefix(p.Name, archive+".") {
			r.parts = append(r.parts, p)
		}
	}
	return r
}

// Read reads bytes that were checked.
func (r *partReader) Read(into []byte) (int, error) {
	for len(r.rest) == 0 {
		if len(r.parts) == 0 {
			return 0, io.EOF
		}
		content, err := readPart(r.ctx, r.store, r.id, r.parts[0])
		if err != nil {
			return 0, err
		}
		r.told(r.parts[0].Size)
		r.rest, r.parts = content, r.parts[1:]
	}
	n := copy(into, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// check reads all parts of a backup.
func check(ctx context.Context, store Store, m Manifest, progress Progress) error {
	done, total := int64(0), m.Size()
	for _, p := range m.Parts {
		if _, err := readPart(ctx, store, m.ID, p); err != nil {
			return err
		}
		done += p.Size
		progress("check", done, total)
	}
	return nil
}
