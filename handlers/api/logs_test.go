package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

func logLine(level, message string) object { return object{"level": level, "message": message} }

func TestAnAgentWritesALog(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build")
	w.claim(ada)
	a := w.as(ada, "POST", "/fleet/logs", object{"job": key, "epoch": 1, "lines": []object{
		logLine("DEBUG", "looking"), logLine("INFO", "\u202ebuilt\x1b[2J\r\n"),
		{"level": "ERROR", "event": "test.failed", "message": "red", "details": object{"n": 3}, "at": "2026-11-21T10:00:00.5+01:00"},
	}}).want(200)
	if a.text("directive") != "continue" || a.text("expires_at") == "" {
		t.Errorf("standing %s", a.raw)
	}

	all := w.as(w.owner, "GET", "/jobs/"+key+"/logs", nil).want(200)
	if all.count("items") != 3 || all.text("next_cursor") != "" || all.text("items", 1, "message") != "\u202ebuilt\x1b[2J\r\n" {
		t.Errorf("the log is %s", all.raw)
	}
	if at := all.text("items", 0, "at"); at != "2026-11-21T09:00:00.5Z" || all.number("items", 0, "details", "n") != 3 ||
		all.text("items", 0, "event") != "test.failed" || all.text("items", 0, "agent") != "ada" || all.at("items", 1, "at") != nil {
		t.Errorf("the last line is %s", all.raw)
	}
	grave := w.as(ada, "GET", "/jobs/"+key+"/logs?level=INFO&limit=1", nil).want(200)
	rest := w.as(ada, "GET", "/jobs/"+key+"/logs?level=INFO&limit=1&cursor="+grave.text("next_cursor"), nil).want(200)
	if grave.text("items", 0, "message") != "red" || rest.count("items") != 1 || rest.text("items", 0, "level") != "INFO" || rest.text("next_cursor") != "" {
		t.Errorf("page by page: %s, %s", grave.raw, rest.raw)
	}
}

func TestRefusedLogLines(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build")
	w.claim(ada)
	good := `{"level":"INFO","message":"x"}`
	body := func(line string) string {
		return fmt.Sprintf(`{"job":%q,"epoch":1,"lines":[%s,%s,%s,%s]}`, key, good, good, good, line)
	}
	for name, c := range map[string]struct {
		body, field string
		code        fault.Code
	}{
		"NUL":            {body(`{"level":"INFO","message":"a\u0000b"}`), "lines[3].message", fault.Validation},
		"invalid UTF-8":  {body("{\"level\":\"INFO\",\"message\":\"a\xffb\"}"), "lines[3].message", fault.Validation},
		"half a letter":  {body(`{"level":"INFO","message":"a\ud83db"}`), "lines[3].message", fault.Validation},
		"NUL in details": {body(`{"level":"INFO","message":"","details":{"a":"\u0000"}}`), "lines[3].details.a", fault.Validation},
		"long message":   {body(`{"level":"INFO","message":"` + strings.Repeat("x", 10_001) + `"}`), "lines[3].message", fault.Validation},
		"long details":   {body(`{"level":"INFO","message":"","details":{"a":"` + strings.Repeat("x", 20_000) + `"}}`), "lines[3].details", fault.Validation},
		"unknown level":  {body(`{"level":"LOUD","message":"x"}`), "lines[3].level", fault.Validation},
		"no level":       {body(`{"message":"x"}`), "lines[3].level", fault.Validation},
		"year 10000":     {body(`{"level":"INFO","message":"x","at":"9999-12-31T23:59:59-12:00"}`), "lines[3].at", fault.Validation},
		"unknown field":  {body(`{"level":"INFO","message":"x","colour":"red"}`), "lines[3].colour", fault.Malformed},
		"no lines":       {`{"job":"` + key + `","epoch":1,"lines":[]}`, "lines", fault.Validation},
		"1,001 lines":    {`{"job":"` + key + `","epoch":1,"lines":[` + strings.Repeat(good+",", 1000) + good + `]}`, "lines", fault.Validation},
		"no epoch":       {`{"job":"` + key + `","lines":[` + good + `]}`, "epoch", fault.Validation},
	} {
		t.Run(name, func(t *testing.T) {
			exchange(t, w.url, request{token: ada, method: "POST", path: "/fleet/logs", body: c.body}).refused(c.code, c.field)
		})
	}
	w.as(ada, "POST", "/fleet/logs", object{"job": key, "epoch": 2, "lines": []object{logLine("INFO", "x")}}).want(409).refused(fault.StaleEpoch)
	w.as(w.owner, "POST", "/fleet/logs", object{"job": key, "epoch": 1, "lines": []object{logLine("INFO", "x")}}).want(403)
	if n := w.as(w.owner, "GET", "/jobs/"+key+"/logs", nil).want(200).count("items"); n != 0 {
		t.Errorf("%d lines of what was refused", n)
	}
}

// Log lines may come in bodies of 5 MB; every other call keeps its 256 KB.
func TestLogBodiesMayBeLarge(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build")
	w.claim(ada)
	long := strings.Repeat("x", 4900)
	var lines []object
	for range 1000 {
		lines = append(lines, logLine("INFO", long))
	}
	w.as(ada, "POST", "/fleet/logs", object{"job": key, "epoch": 1, "lines": lines}).want(200)
	for i := range lines {
		lines[i] = logLine("INFO", long+strings.Repeat("y", 400))
	}
	w.as(ada, "POST", "/fleet/logs", object{"job": key, "epoch": 1, "lines": lines}).want(413).refused(fault.TooLarge)
	w.as(ada, "POST", "/fleet/progress", object{"job": key, "epoch": 1, "current_step": strings.Repeat("x", 300<<10)}).want(413).refused(fault.TooLarge)
	w.as(ada, "POST", "/fleet/logs", object{"job": key, "epoch": 1, "lines": []object{logLine("INFO", "still works")}}).want(200)
}
