package cli

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// TestClean takes out what controls a terminal and leaves what people write.
func TestClean(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"plain – grün 日本 👍":                "plain – grün 日本 👍",
		"two\nlines\tand a tab":            "two\nlines\tand a tab",
		"\x1b[31mred\x1b[0m":               "[31mred[0m",
		"\x1b]8;;http://x\x07link\x1b]8;;": "]8;;http://xlink]8;;",
		"C1 \u009b2J":                      "C1 2J",
		"over\rwritten\b\b":                "overwritten",
		"turned \u202e\u2066 round \u200f": "turned  round ",
		"separators \u2028\u2029\u0085":    "separators ",
		"broken \xff\xfe UTF-8":            "broken \uFFFD UTF-8",
	} {
		if got := clean(said); got != want {
			t.Errorf("%q became %q, want %q", said, got, want)
		}
		if got := cleanLine(said); strings.ContainsAny(got, "\n\t\r") {
			t.Errorf("%q became the lines %q", said, got)
		}
	}
}

// TestEscapedJSONIsTheSame: what is printed on a terminal reads as what the server said.
func TestEscapedJSONIsTheSame(t *testing.T) {
	t.Parallel()
	want := "a\u009bb\u202ec \u2028 d\u007f grün"
	raw, err := json.Marshal(map[string]string{"x": want})
	if err != nil {
		t.Fatal(err)
	}
	raw = []byte(strings.ReplaceAll(string(raw), `\u2028`, "\u2028")) // as other encoders write it
	escaped := escapeControls(string(raw))
	var got map[string]string
	if err := json.Unmarshal([]byte(escaped), &got); err != nil || got["x"] != want || strings.ContainsAny(escaped, "\u009b\u202e\u2028\u007f") {
		t.Errorf("%s reads as %q (%v)", escaped, got["x"], err)
	}
}

// TestStreams reads events, the places of those that a filter left out, and no line
// without an end.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sent  string
		types string
		place string
		fails bool
	}{
		"events":              {"retry: 1\nid: 1\n\nid: 2\ndata: {\"type\":\"a\"}\n\n: beat\n\ndata: {\"type\":\"b\"}\nid: 3\n\n", "a b", "3", false},
		"an event cut short":  {"id: 1\n\nid: 2\ndata: {\"type\":\"a\"}\n", "", "1", false},
		"two lines of data":   {"id: 1\ndata: {\"type\":\ndata: \"a\"}\n\n", "a", "1", false},
		"something else":      {"id: 1\ndata: <html>\n\n", "", "", true},
		"a line without end":  {"data: " + strings.Repeat("x", longestLine+1), "", "", true},
		"an event of no size": {strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 5), "", "", true},
	} {
		var from api.StreamEventsParams
		var types []string
		s := stream{lines: bufio.NewReader(strings.NewReader(test.sent)), from: &from}
		err := s.read(func(one api.Event) error {
			types = append(types, one.Type)
			return nil
		})
		place := ""
		if from.LastEventID != nil {
			place = *from.LastEventID
		}
		if strings.Join(types, " ") != test.types || place != test.place || (err != nil) != test.fails {
			t.Errorf("%s: events %q, place %q, %v", name, types, place, err)
		}
	}
}
