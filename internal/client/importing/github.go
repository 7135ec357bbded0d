package importing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// issue is an issue as `gh issue list --json` writes it.
type issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	State  string `json:"state"`
	Closed bool   `json:"closed"`
	Reason string `json:"stateReason"`
	URL    string `json:"url"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

// GitHub reads what `gh issue list --json number,title,body,state,stateReason,url,labels` writes.
func GitHub(_ string, from io.Reader) ([]Item, error) {
	raw, err := readAll(from)
	if err != nil {
		return nil, err
	}
	lineAt := func(offset int64) int {
		return bytes.Count(raw[:min(max(offset, 0), int64(len(raw)))], []byte("\n")) + 1
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	broken := func(err error) error {
		at := dec.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			at = int64(len(raw))
		}
		return &LineError{lineAt(at), "must be part of an array of issues as JSON: " + err.Error()}
	}
	if first, err := dec.Token(); err != nil {
		return nil, broken(err)
	} else if first != json.Delim('[') {
		return nil, &LineError{lineAt(dec.InputOffset()), "must begin an array of issues"}
	}
	var items []Item
	for dec.More() {
		begin := dec.InputOffset()
		for begin < int64(len(raw)) && bytes.IndexByte([]byte(" \t\r\n,"), raw[begin]) >= 0 {
			begin++
		}
		var is issue
		if err := dec.Decode(&is); err != nil {
			return nil, broken(err)
		}
		one, err := is.item()
		if err != nil {
			return nil, &LineError{lineAt(begin), err.Error()}
		}
		one.Line = lineAt(begin)
		items = append(items, one)
	}
	if _, err := dec.Token(); err != nil {
		return nil, broken(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &LineError{lineAt(dec.InputOffset()), "must have nothing after the array"}
	}
	return unique(items)
}

func (is issue) item() (Item, error) {
	at, err := url.Parse(is.URL)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return Item{}, errors.New("must have the url of its issue; list it with --json number,title,body,state,stateReason,url,labels")
	}
	// One issue has one address, whatever stands behind it and however its host is written.
	at = &url.URL{Scheme: at.Scheme, Host: strings.TrimPrefix(strings.ToLower(at.Host), "www."), Path: strings.TrimRight(at.Path, "/")}
	source := "github:" + at.String()
	if parts := strings.Split(strings.Trim(at.Path, "/"), "/"); at.Host == "github.com" && len(parts) == 4 && parts[2] == "issues" {
		source = fmt.Sprintf("github:%s/%s#%s", parts[0], parts[1], parts[3])
	}
	var labels []string
	for _, l := range is.Labels {
		labels = append(labels, l.Name)
	}
	one := Item{Source: source, Title: lineText(is.Title), Body: bodyText(is.Body), Tags: texts(labels), URL: at.String(),
		Done: is.Closed || strings.EqualFold(is.State, "closed")}
	if reason := strings.ToLower(lineText(strings.ReplaceAll(is.Reason, "_", " "))); one.Done && reason != "completed" {
		one.Ending = reason
	}
	return one, nil
}
