package witness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// FileName is the name of the newer file in the data directory, earlierName that of the one before it.
	FileName    = "log-witness"
	earlierName = "log-witness.1"
	// maxFile is from how many bytes on a file becomes the earlier one: some 60,000 events.
	maxFile = 8 << 20
	// maxLine bounds a line, in bytes: a batch has readRows events of less than 300 bytes each, and its
	// base64 a third more.
	maxLine = 1 << 20
	// signedKind is what the lines are signed as.
	signedKind = "log witness"
)

// file is where batches are kept, a line each. Several processes may append to it.
type file struct {
	dir  string
	keys *seal.Keys
}

// batch are events of a log that followed one another.
type batch struct {
	Workspace ids.ID  `json:"workspace"`
	Xid       string  `json:"xid"` // of the last one's transaction
	Events    []Event `json:"events"`
}

// add appends a batch. It is not forced to the disk: the file is for the loss of another machine.
func (f file) add(b batch) (err error) {
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode a batch of events: %w", err)
	}
	line, err := json.Marshal(f.keys.State(signedKind, text))
	if err != nil {
		return fmt.Errorf("encode a batch of events: %w", err)
	}
	out, err := os.OpenFile(filepath.Join(f.dir, FileName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err // the error names the file
	}
	_, err = out.Write(append(line, '\n'))
	size, sizeErr := out.Seek(0, 1)
	if err = errors.Join(err, sizeErr, out.Close()); err != nil || size < maxFile {
		return err
	}
	return os.Rename(filepath.Join(f.dir, FileName), filepath.Join(f.dir, earlierName))
}

// readAll calls fn with every batch that was kept, the oldest first. Lines that this server did not write
// are left out, and counted.
func (f file) readAll(fn func(batch)) (foreign int, err error) {
	for _, name := range []string{earlierName, FileName} {
		n, err := f.read(filepath.Join(f.dir, name), fn)
		foreign += n
		if err != nil {
			return foreign, err
		}
	}
	return foreign, nil
}

func (f file) read(path string, fn func(batch)) (foreign int, err error) {
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err // the error names the file
	}
	defer func() { _ = in.Close() }() // it was only read
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var s seal.Statement
		var b batch
		if json.Unmarshal(lines.Bytes(), &s) != nil || !f.keys.Stated(signedKind, s) || json.Unmarshal(s.Text, &b) != nil {
			foreign++
			continue
		}
		fn(b)
	}
	if err := lines.Err(); err != nil {
		return foreign, fmt.Errorf("read %s: %w", path, err)
	}
	return foreign, nil
}
