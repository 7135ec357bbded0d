package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	// MarkFile is the name of the file with the marks, in the data directory.
	MarkFile = "log-marks.json"
	// maxMarks bounds what is read back, in bytes: the marks of 100,000 logs.
	maxMarks = 16 << 20
	// markTimeout bounds a request to the address of the marks.
	markTimeout = 10 * time.Second
)

// File keeps marks in a file of a directory, mode 0600.
type File struct{ Dir string }

// Load reads the file.
func (f File) Load(context.Context) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(f.Dir, MarkFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err // the error names the file
}

// Save replaces the file: after a crash it is the old one or the new one.
func (f File) Save(_ context.Context, text []byte) (err error) {
	next, err := os.CreateTemp(f.Dir, MarkFile+".*") // made with 0600
	if err != nil {
		return err // the error names the file
	}
	defer func() {
		if err != nil {
			_ = os.Remove(next.Name()) // it holds nothing that is missed
		}
	}()
	_, err = next.Write(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), filepath.Join(f.Dir, MarkFile)) // the error names the file
}

// Address keeps marks where a GET reads and a PUT replaces them.
type Address struct{ URL string }

// Load reads the marks; 404 means that there are none.
func (a Address) Load(ctx context.Context) ([]byte, error) {
	text, status, err := a.send(ctx, http.MethodGet, nil)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return nil, nil
	case status != http.StatusOK:
		return nil, fmt.Errorf("the address of the marks answers %d", status)
	}
	return text, nil
}

// Save replaces the marks.
func (a Address) Save(ctx context.Context, text []byte) error {
	_, status, err := a.send(ctx, http.MethodPut, text)
	if err == nil && (status < 200 || status > 299) {
		err = fmt.Errorf("the address of the marks answers %d", status)
	}
	return err
}

func (a Address) send(ctx context.Context, method string, body []byte) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.URL, bytes.NewReader(body))
	if err != nil {
		return nil, 0, fmt.Errorf("the address of the marks: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("the address of the marks: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read, or is of no use
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxMarks+1))
	if err == nil && len(text) > maxMarks {
		err = errors.New("the answer is too large")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the address of the marks: %w", err)
	}
	return text, answer.StatusCode, nil
}
