package ui_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/views/ui"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":             "plain text",
		"Mara Ilić, 日本, 🛠️":      "Mara Ilić, 日本, 🛠️",
		"a\nb\tc\rd":             "a b c d",
		"\x1b[31mred\x1b[0m":     "␛[31mred␛[0m",
		"bell\x07 nul\x00":       "bell␇ nul␀",
		"user\u202egnp.exe":      "user�gnp.exe",
		"\u2066iso\u2069":        "�iso�",
		"zero\u200bwidth\ufeff":  "zero�width�",
		"tag\U000E0041":          "tag�",
		"bad\xff\xfebytes":       "bad��bytes",
		"del\x7f c1\u0085":       "del␡ c1�",
		"line\u2028sep":          "line�sep",
		"join \u200d stays":      "join \u200d stays",
		"<script>alert</script>": "<script>alert</script>", // escaping is templ's work
	} {
		if got := ui.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := ui.CleanLines("a\r\nb\n\tc\x1b"); got != "a\nb\n\tc␛" {
		t.Errorf("CleanLines keeps lines and tabs: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, in string) {
		got := ui.Clean(in)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\n\r\t\u202e\u2066\u200b") {
			t.Errorf("Clean(%q) = %q", in, got)
		}
	})
}

func TestWords(t *testing.T) {
	s := ui.Say(ui.T("Waits for "), ui.Link("FB-1", "/jobs/FB-1"), ui.T(", needs "), ui.Key("has:<b>"), ui.T("."))
	if got := s.String(); got != "Waits for FB-1, needs has:<b>." {
		t.Errorf("String() = %q", got)
	}
	var b strings.Builder
	if err := ui.Words(s).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	want := `Waits for <a class="tlink" href="/jobs/FB-1">FB-1</a>, needs <span class="key nm">has:&lt;b&gt;</span>.`
	if b.String() != want {
		t.Errorf("got  %s\nwant %s", b.String(), want)
	}
}

func TestTimes(t *testing.T) {
	now := time.Date(2025, 11, 21, 12, 46, 40, 0, time.UTC)
	for _, c := range []struct {
		got  ui.When
		want string
	}{
		{ui.Ago(now.Add(-40*time.Second), now), "40s ago"},
		{ui.Ago(now.Add(time.Second), now), "0s ago"},
		{ui.For(now.Add(-12*time.Minute-50*time.Second), now), "12m"},
		{ui.For(now.Add(-130*time.Minute), now), "2h 10m"},
		{ui.For(now.Add(-26*time.Hour), now), "1d 2h"},
		{ui.For(now.Add(-80*time.Hour), now), "3d"},
		{ui.In(now.Add(5*time.Hour+13*time.Minute), now), "in 5h 13m"},
		{ui.In(now, now), "now"},
		{ui.Left(now.Add(14*time.Minute+56*time.Second), now), "14m 56s"},
		{ui.Left(now.Add(-time.Hour), now), "0s"},
		{ui.Run(now.Add(-760*time.Second), now), "12m 40s"},
		{ui.At(now), "12:46:40 UTC"},
		{ui.Day(now.Add(-108 * time.Minute)), "21 Nov 10:58 UTC"},
		{ui.Ago(time.Time{}, now), ""},
	} {
		if c.got.Text != c.want {
			t.Errorf("got %q, want %q", c.got.Text, c.want)
		}
	}
	for d, want := range map[time.Duration]string{133 * time.Second: "2m 13s", 7813 * time.Second: "2h 10m 13s", 0: "0s"} {
		if got := ui.Took(d); got != want {
			t.Errorf("Took(%v) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1284: "1,284", -1000000: "-1,000,000"} {
		if got := ui.Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
