package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"
)

// line is one answer that somebody was given.
type line struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	Verb   string    `json:"verb"`
	Job    string    `json:"job,omitempty"`
	Epoch  int64     `json:"epoch,omitempty"`
	Status int       `json:"status"`
	Code   string    `json:"code,omitempty"`
	Note   string    `json:"note,omitempty"`
}

// accepted reports whether the answer promised something.
func (l line) accepted() bool { return l.Status >= 200 && l.Status < 300 }

// journal is a file of lines. Each is one write, so that what was written before
// a kill is there.
type journal struct {
	file *os.File
}

func openDiary(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &journal{f}, err
}

func (d *journal) write(l line) error {
	l.At = time.Now()
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = d.file.Write(append(text, '\n'))
	return err
}

// readDiary reads what was written so far; a last line that was cut off is left
// out. A file that is not there yet is empty.
func readDiary(path string) ([]line, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []line
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) == nil {
			list = append(list, l)
		}
	}
	return list, scan.Err()
}
