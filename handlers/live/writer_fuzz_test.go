package live

import (
	"bufio"
	"strings"
	"testing"
)

// FuzzWriter: whatever a text holds, a reader gets one message with that text, and
// no field that the text made.
func FuzzWriter(f *testing.F) {
	for _, seed := range []string{"", "a", "a\nb", "a\r\nb", "\rid: 9", "\n\nevent: x\ndata: y\n\n", ": beat\n", "data: a", "\x00", "\u2028", "\xff", "\n", "\r\r\n\n"} {
		f.Add("1-2", seed)
		f.Add("", seed)
	}
	f.Fuzz(func(t *testing.T, cursor, data string) {
		if strings.ContainsAny(cursor, "\r\n") {
			return // cursors are the server's own
		}
		messages, ids := readEvents(string(lines(cursor, data)) + string(lines("", "next")))
		if len(messages) != 2 || messages[0] != lineEnds.Replace(data) || messages[1] != "next" {
			t.Errorf("%q was read as %q", data, messages)
		}
		if len(ids) > 1 || len(ids) == 1 && ids[0] != cursor {
			t.Errorf("the reader's places are %q; want %q", ids, cursor)
		}
	})
}

// readEvents reads a stream as a browser does (HTML, 9.2.6).
func readEvents(stream string) (messages, ids []string) {
	var data []string
	lines := bufio.NewScanner(strings.NewReader(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)))
	lines.Buffer(nil, len(stream)+2)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if data != nil {
				messages = append(messages, strings.Join(data, "\n"))
			}
			data = nil
		case name == "data":
			data = append(data, value)
		case name == "id":
			ids = append(ids, value)
		case name != "":
			messages = append(messages, "a field "+name)
		}
	}
	return messages, ids
}
