package links

import (
	"net/url"
	"strconv"
)

// LogView is which part of a job's log is shown. The zero value is the newest
// lines of all levels and attempts.
type LogView struct {
	Level  string // this one and graver ones
	Epoch  int64  // of one attempt
	Before int64  // lines older than the one with this id
	Line   int64  // the lines around this one
	Text   string // lines with this text
}

func (w LogView) values() url.Values {
	v := url.Values{}
	if w.Level != "" {
		v.Set("level", w.Level)
	}
	if w.Epoch > 0 {
		v.Set("epoch", strconv.FormatInt(w.Epoch, 10))
	}
	if w.Before > 0 {
		v.Set("before", strconv.FormatInt(w.Before, 10))
	}
	if w.Line > 0 {
		v.Set("line", strconv.FormatInt(w.Line, 10))
	}
	if w.Text != "" {
		v.Set("q", w.Text)
	}
	return v
}

// LogLine returns a line among those around it.
func LogLine(key string, id int64) string {
	return JobLog(key, LogView{Line: id}) + "#L" + strconv.FormatInt(id, 10)
}

// LogText returns a job's log as a file.
func LogText(key string, w LogView) string { return with(Job(key)+"/log/text", w.values()) }

// JobLog returns the page of a job's log.
func JobLog(key string, w LogView) string { return with(Job(key)+"/log", w.values()) }

// LiveLog returns the stream of lines that follow the one with the id after.
func LiveLog(key string, after int64, w LogView) string {
	v := w.values()
	v.Set("after", strconv.FormatInt(after, 10))
	return with(LivePath+Job(key)+"/log", v)
}

// Attempts returns the page of a job's attempts before an epoch, 0 for the newest.
func Attempts(key string, before int64) string {
	v := url.Values{}
	if before > 0 {
		v.Set("before", strconv.FormatInt(before, 10))
	}
	return with(Job(key)+"/attempts", v)
}
