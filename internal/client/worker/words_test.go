package worker

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Whatever a file is called, the API takes its name, and people can read it.
func TestFileNamesAreToldAsTheAPITakesThem(t *testing.T) {
	for name, want := range map[string]string{
		"docs/a b.md":                       "docs/a b.md",
		"a\rb":                              `a\rb`,
		"a\nb\tc":                           `a\nb\tc`,
		"a\x1bb\x7f":                        `a\033b\177`,
		"na\xefve.txt":                      `na\357ve.txt`,
		"nai\u0308ve/\u540d\U0001F600":      "nai\u0308ve/\u540d\U0001F600",
		"a\u0085b":                          `a\302\205b`,
		"{a,.}":                             `\173a\054.\175`,
		" ":                                 `\040`,
		`"quoted"`:                          `"quoted"`,
		"-rf":                               "-rf",
		strings.Repeat("d/", 300) + "e":     "\u2026" + strings.Repeat("d/", 255) + "e",
		strings.Repeat("\u00e9", 512):       strings.Repeat("\u00e9", 512),
		"a\u2028b\u200fc":                   "a\u2028b\u200fc",
		"a/" + strings.Repeat("\x01", 1000): "",
	} {
		got := fileName(name)
		problems := fault.Problems{}
		problems.TouchedFiles("files_touched", []string{got}, 1, api.MaxCompletionFilesTouchedItem)
		if err := problems.Err(); err != nil {
			t.Errorf("%q is told as %q, which is refused: %v", name, got, err)
		}
		if want != "" && got != want {
			t.Errorf("%q is told as %q; want %q", name, got, want)
		}
	}
}

// A file is passed on without secrets, however long its lines are, also where one stands at the
// end of what is read at once.
func TestAFileIsReadWithoutSecrets(t *testing.T) {
	const value = "correct horse battery staple"
	_, secret := readSecrets(api.Job{SecretKeys: []string{"key"}, InputContext: []byte(`{"key": "` + value + `"}`)})
	for name, text := range map[string]string{
		"short":         "+" + value + "\n",
		"no last end":   "+a\n+" + value,
		"many lines":    strings.Repeat("+a line of text\n", 40_000) + "+" + value + "\n" + strings.Repeat("+another\n", 40_000),
		"one long line": strings.Repeat("x", blockSize-10) + value + strings.Repeat("y", blockSize),
		"nothing":       "",
	} {
		path := filepath.Join(t.TempDir(), "patch")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.ReadAll(&withoutSecrets{file: file, secret: secret})
		if err != nil || bytes.Contains(read, []byte("battery")) {
			t.Errorf("%s: it is read with the secret: %v", name, err)
		}
		if lines := strings.Count(text, "\n"); bytes.Count(read, []byte("\n")) != lines || !strings.Contains(text, value) && string(read) != text {
			t.Errorf("%s: %d lines are %d", name, lines, bytes.Count(read, []byte("\n")))
		}
		_ = file.Close()
	}
}

func TestTextsAreToldAsTheAPITakesThem(t *testing.T) {
	for text, want := range map[string][2]string{"a": {"a", "a"}, "a\x00b\xff\nc\x1b": {"a\u2400b\ufffd\nc\x1b", "a\u2400b\ufffd c "}} {
		if plainText(text) != want[0] || plainLine(text) != want[1] {
			t.Errorf("%q is told as %q and %q", text, plainText(text), plainLine(text))
		}
	}
}
