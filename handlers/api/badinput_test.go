package api_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	foreign := w.otherWorkspace()
	theirs := w.as(foreign, "POST", "/jobs", object{"title": "Theirs", "key": "THEIRS"}).want(201)
	w.job("Ours", object{"key": "OURS"})
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)

	for name, c := range map[string]struct {
		token, method, path, body string
		code                      fault.Code
		fields                    []string
	}{
		"unknown field":         {w.owner, "POST", "/jobs", `{"title":"x","colour":"red"}`, fault.Malformed, []string{"colour"}},
		"unknown field, batch":  {w.owner, "POST", "/jobs/batch", `{"jobs":[{"title":"x"},{"title":"y","colour":1}]}`, fault.Malformed, []string{"jobs[1].colour"}},
		"other case":            {w.owner, "POST", "/jobs", `{"Title":"x"}`, fault.Malformed, []string{"Title"}},
		"nested unknown field":  {w.enrolment, "PUT", "/agents/a", `{"boot_id":"b","factory":{"name":"f","repos":[{"name":"r","x":1}]}}`, fault.Malformed, []string{"factory.repos[0].x"}},
		"not JSON":              {w.owner, "POST", "/jobs", `{"title":`, fault.Malformed, nil},
		"trailing data":         {w.owner, "POST", "/jobs", `{"title":"x"} {"title":"y"}`, fault.Malformed, nil},
		"a list":                {w.owner, "POST", "/jobs", `[]`, fault.Malformed, nil},
		"nothing":               {w.owner, "POST", "/jobs", ``, fault.Malformed, nil},
		"given twice":           {w.owner, "POST", "/jobs", `{"title":"x","title":"y"}`, fault.Malformed, []string{"title"}},
		"too deep":              {w.owner, "POST", "/jobs", `{"title":"x","input_context":` + deep + `}`, fault.Malformed, nil},
		"number as text":        {w.owner, "POST", "/jobs", `{"title":"x","priority":"5"}`, fault.Malformed, []string{"priority"}},
		"text as number":        {w.owner, "POST", "/jobs", `{"title":7}`, fault.Malformed, []string{"title"}},
		"fraction":              {w.owner, "POST", "/jobs", `{"title":"x","priority":5.5}`, fault.Malformed, []string{"priority"}},
		"null":                  {w.owner, "POST", "/jobs", `{"title":null}`, fault.Malformed, []string{"title"}},
		"text for a list":       {w.owner, "POST", "/jobs", `{"title":"x","tags":"a"}`, fault.Malformed, []string{"tags"}},
		"list for an object":    {w.owner, "POST", "/jobs", `{"title":"x","input_context":[]}`, fault.Malformed, []string{"input_context"}},
		"over-long text":        {w.owner, "POST", "/jobs", `{"title":"` + strings.Repeat("x", 201) + `"}`, fault.Validation, []string{"title"}},
		"over-long tag":         {w.owner, "POST", "/jobs", `{"title":"x","tags":["ok","` + strings.Repeat("x", 65) + `"]}`, fault.Validation, []string{"tags[1]"}},
		"no title":              {w.owner, "POST", "/jobs", `{}`, fault.Validation, []string{"title"}},
		"blank title":           {w.owner, "POST", "/jobs", `{"title":"  "}`, fault.Validation, []string{"title"}},
		"priority 11":           {w.owner, "POST", "/jobs", `{"title":"x","priority":11}`, fault.Validation, []string{"priority"}},
		"number beyond 64 bits": {w.owner, "POST", "/jobs", `{"title":"x","token_budget":99999999999999999999}`, fault.Validation, []string{"token_budget"}},
		"endless number":        {w.owner, "POST", "/jobs", `{"title":"x","input_context":{"n":1e999999}}`, fault.Validation, []string{"input_context.n"}},
		"not a time":            {w.owner, "POST", "/jobs", `{"title":"x","not_before":"tomorrow"}`, fault.Validation, []string{"not_before"}},
		"NUL":                   {w.owner, "POST", "/jobs", `{"title":"a\u0000b"}`, fault.Validation, []string{"title"}},
		"NUL in free form":      {w.owner, "POST", "/jobs", `{"title":"x","input_context":{"a":["\u0000"]}}`, fault.Validation, []string{"input_context.a[0]"}},
		"NUL in a free key":     {w.owner, "POST", "/jobs", `{"title":"x","input_context":{"\u0000":1}}`, fault.Validation, nil},
		"half a character":      {w.owner, "POST", "/jobs", `{"title":"a\ud83db"}`, fault.Validation, []string{"title"}},
		"the other half":        {w.owner, "POST", "/jobs", `{"title":"x","input_context":{"a":"\uDE00\ud83d"}}`, fault.Validation, []string{"input_context.a"}},
		"half in a free key":    {w.owner, "POST", "/jobs", `{"title":"x","input_context":{"\ud83d":1}}`, fault.Validation, nil},
		"a year beyond 9999":    {w.owner, "POST", "/jobs", `{"title":"x","not_before":"9999-12-31T23:59:59-12:00"}`, fault.Validation, []string{"not_before"}},
		"a year before 1":       {w.owner, "POST", "/jobs", `{"title":"x","not_before":"0000-01-01T00:00:00Z"}`, fault.Validation, []string{"not_before"}},
		"a year, patched":       {w.owner, "PATCH", "/jobs/OURS", `{"version":1,"not_before":"9999-12-31T23:59:59-12:00"}`, fault.Validation, []string{"not_before"}},
		"key of an address":     {w.owner, "POST", "/jobs", `{"title":"x","key":"New"}`, fault.Validation, []string{"key"}},
		"one key for two jobs":  {w.owner, "POST", "/jobs/batch", `{"jobs":[{"title":"x","idempotency_key":"k"},{"title":"y","idempotency_key":"k"}]}`, fault.Validation, []string{"jobs[1].idempotency_key"}},
		"address of a script":   {ada, "POST", "/fleet/complete", `{"job":"OURS","epoch":1,"url":"javascript:alert(1)"}`, fault.Validation, []string{"url"}},
		"script for a merge":    {w.owner, "POST", "/jobs/OURS/merge", `{"url":"javascript:alert(1)"}`, fault.Validation, []string{"url"}},
		"invalid UTF-8":         {w.owner, "POST", "/jobs", "{\"title\":\"a\xffb\"}", fault.Validation, []string{"title"}},
		"invalid UTF-8 outside": {w.owner, "POST", "/jobs", "{\"title\":\"ab\"\xff}", fault.Malformed, nil},
		"bad capability":        {w.owner, "POST", "/jobs", `{"title":"x","capabilities":["Not A Token"]}`, fault.Validation, []string{"capabilities[0]"}},
		"unknown dependency":    {w.owner, "POST", "/jobs", `{"title":"x","depends_on":["NOPE-1"]}`, fault.Validation, []string{"depends_on[0]"}},
		"foreign dependency":    {w.owner, "POST", "/jobs", `{"title":"x","depends_on":["THEIRS"]}`, fault.Validation, []string{"depends_on[0]"}},
		"unknown product":       {w.owner, "POST", "/jobs", `{"title":"x","product":"none"}`, fault.Validation, []string{"product"}},
		"foreign job":           {w.owner, "GET", "/jobs/THEIRS", ``, fault.NotFound, nil},
		"foreign job by id":     {w.owner, "GET", "/jobs/" + theirs.text("id"), ``, fault.NotFound, nil},
		"foreign job, edit":     {w.owner, "PATCH", "/jobs/THEIRS", `{"version":1,"title":"x"}`, fault.NotFound, nil},
		"foreign job, cancel":   {w.owner, "POST", "/jobs/THEIRS/cancel", `{"reason":"x"}`, fault.NotFound, nil},
		"foreign job, progress": {ada, "POST", "/fleet/progress", `{"job":"THEIRS","epoch":1}`, fault.NotFound, nil},
		"foreign job, complete": {ada, "POST", "/fleet/complete", `{"job":"THEIRS","epoch":1}`, fault.NotFound, nil},
		"job with NUL":          {w.owner, "GET", "/jobs/a%00b", ``, fault.NotFound, nil},
		"job with NUL, twice":   {w.owner, "GET", "/jobs/a%2500b", ``, fault.NotFound, nil},
		"over-long job":         {w.owner, "GET", "/jobs/" + strings.Repeat("x", 5000), ``, fault.NotFound, nil},
		"unknown parameter":     {w.owner, "GET", "/jobs?colour=red", ``, fault.Malformed, []string{"colour"}},
		"limit as text":         {w.owner, "GET", "/jobs?limit=many", ``, fault.Malformed, []string{"limit"}},
		"limit 201":             {w.owner, "GET", "/jobs?limit=201", ``, fault.Validation, []string{"limit"}},
		"limit twice":           {w.owner, "GET", "/jobs?limit=1&limit=2", ``, fault.Malformed, []string{"limit"}},
		"not a boolean":         {w.owner, "GET", "/jobs?ready_only=1", ``, fault.Malformed, []string{"ready_only"}},
		"unknown status":        {w.owner, "GET", "/jobs?status=done", ``, fault.Validation, []string{"status[0]"}},
		"bad cursor":            {w.owner, "GET", "/jobs?cursor=zzz", ``, fault.Validation, []string{"cursor"}},
		"bad cursor of events":  {w.owner, "GET", "/jobs/OURS/events?cursor=zzz", ``, fault.Validation, []string{"cursor"}},
		"NUL in the query":      {w.owner, "GET", "/jobs?q=%00", ``, fault.Validation, []string{"q"}},
		"NUL in a list":         {w.owner, "GET", "/events?type=job.*&type=%00", ``, fault.Validation, []string{"type[1]"}},
		"NUL for a stream":      {w.owner, "GET", "/events/stream?type=%00", ``, fault.Validation, []string{"type[0]"}},
		"no text for a stream":  {w.owner, "GET", "/events/stream?type=%ff", ``, fault.Validation, []string{"type[0]"}},
		"broken query":          {w.owner, "GET", "/jobs?q=%zz", ``, fault.Malformed, nil},
		"body where none goes":  {w.owner, "POST", "/factories/ada-host/drain", `{"now":true}`, fault.Malformed, []string{"now"}},
		"wait 51":               {ada, "POST", "/fleet/claim", `{"wait_seconds":51}`, fault.Validation, []string{"wait_seconds"}},
		"claim 0":               {ada, "POST", "/fleet/claim", `{"max":0}`, fault.Validation, []string{"max"}},
		"lease of 9 seconds":    {ada, "POST", "/fleet/claim", `{"ttl_seconds":9}`, fault.Validation, []string{"ttl_seconds"}},
		"no epoch":              {ada, "POST", "/fleet/start", `{"job":"OURS"}`, fault.Validation, []string{"epoch"}},
		"progress 101":          {ada, "POST", "/fleet/progress", `{"job":"OURS","epoch":1,"progress_percent":101}`, fault.Validation, []string{"progress_percent"}},
		"status of an agent":    {ada, "POST", "/agents/ada/heartbeat", `{"boot_id":"ada-boot","status":"sleepy"}`, fault.Validation, []string{"status"}},
		"no factory":            {w.enrolment, "PUT", "/agents/a", `{"boot_id":"b"}`, fault.Validation, []string{"factory"}},
		"no seats":              {w.enrolment, "PUT", "/agents/a", `{"boot_id":"b","factory":{"name":"f","seats":0}}`, fault.Validation, []string{"factory.seats"}},
		"no token":              {"", "GET", "/jobs", ``, fault.Unauthenticated, nil},
		"no such token":         {"fb_person_x_y", "GET", "/jobs", ``, fault.TokenInvalid, nil},
		"agent makes a job":     {ada, "POST", "/jobs", `{"title":"x"}`, fault.Forbidden, nil},
		"enrolment token reads": {w.enrolment, "GET", "/jobs", ``, fault.Forbidden, nil},
		"person claims":         {w.owner, "POST", "/fleet/claim", ``, fault.Forbidden, nil},
		"person registers":      {w.owner, "PUT", "/agents/a", `{"boot_id":"b","factory":{"name":"f"}}`, fault.Forbidden, nil},
		"agent drains":          {ada, "POST", "/factories/ada-host/drain", ``, fault.Forbidden, nil},
		"unknown call":          {w.owner, "GET", "/nothing", ``, fault.NotFound, nil},
		"wrong method":          {w.owner, "PUT", "/jobs/OURS", ``, fault.MethodNotAllowed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := exchange(t, w.url, request{token: c.token, method: c.method, path: c.path, body: c.body})
			a.refused(c.code, c.fields...)
		})
	}
	if n := w.as(w.owner, "GET", "/jobs", nil).want(200).count("items"); n != 1 {
		t.Errorf("%d jobs, want 1: something bad was half done", n)
	}
	if n := w.as(w.owner, "GET", "/agents", nil).want(200).count("items"); n != 1 {
		t.Errorf("%d agents, want 1: something bad was half done", n)
	}
}

func TestWrongMedia(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, header := range [][2]string{{"Content-Type", "text/plain"}, {"Content-Type", "application/json; charset=latin1"},
		{"Content-Type", "application/x-www-form-urlencoded"}, {"Content-Encoding", "gzip"}} {
		w.as(w.owner, "POST", "/jobs", `{"title":"x"}`, header[0], header[1]).want(415).refused(fault.UnsupportedMedia)
	}
	w.as(w.owner, "POST", "/jobs", `{"title":"x"}`, "Content-Type", "application/json; charset=UTF-8").want(201)
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	big := `{"title":"x","body":"` + strings.Repeat("y", 300<<10) + `"}`
	w.as(w.owner, "POST", "/jobs", big).want(413).refused(fault.TooLarge)

	// The same in chunks, without a Content-Length that says so.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/v1/jobs", io.MultiReader(bytes.NewReader([]byte(big))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.owner)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked: %d", response.StatusCode)
	}
	w.as(w.owner, "POST", "/jobs", `{"title":"x","body":"`+strings.Repeat("y", 100_000)+`"}`).want(201)
}

func TestCookiesCountForNothing(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as("", "GET", "/jobs", nil, "Cookie", "session="+w.owner).want(401).refused(fault.Unauthenticated)
	w.as(w.owner, "GET", "/jobs", nil, "Cookie", "session=x").want(200)
	w.as("", "GET", "/jobs", nil, "Authorization", "Basic "+w.owner).want(401).refused(fault.Unauthenticated)
}
