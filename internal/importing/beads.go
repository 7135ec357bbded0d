package importing

import (
	"bytes"
	"encoding/json"
	"io"
)

// bead is an issue as beads exports it.
type bead struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Status       string   `json:"status"`
	Priority     *int     `json:"priority"`
	IssueType    string   `json:"issue_type"`
	Labels       []string `json:"labels"`
	Dependencies []struct {
		IssueID     string `json:"issue_id"`
		DependsOnID string `json:"depends_on_id"`
		Type        string `json:"type"`
	} `json:"dependencies"`
}

// beadPriorities are the server's priorities for those of beads, where 0 is the most urgent.
var beadPriorities = []int{10, 8, 5, 3, 1}

// Beads reads an export of beads, one issue a line.
func Beads(_ string, from io.Reader) ([]Item, error) {
	lines, err := linesOf(from)
	if err != nil {
		return nil, err
	}
	var items []Item
	for i, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var b bead
		if err := json.Unmarshal(line, &b); err != nil {
			return nil, &LineError{i + 1, "must be an issue as JSON: " + err.Error()}
		}
		id := lineText(b.ID)
		if id == "" {
			return nil, &LineError{i + 1, "must have an id"}
		}
		one := Item{Source: "beads:" + id, Title: lineText(b.Title), Body: bodyText(b.Description), Kind: lineText(b.IssueType),
			Tags: texts(b.Labels), Done: b.Status == "closed", Line: i + 1}
		if b.Priority != nil {
			if *b.Priority < 0 || *b.Priority >= len(beadPriorities) {
				return nil, &LineError{i + 1, "must have a priority from 0 to 4"}
			}
			one.Priority = &beadPriorities[*b.Priority]
		}
		for _, d := range b.Dependencies {
			if to := lineText(d.DependsOnID); d.Type == "blocks" && to != "" && (d.IssueID == "" || lineText(d.IssueID) == id) {
				one.DependsOn = append(one.DependsOn, "beads:"+to)
			}
		}
		one.DependsOn = texts(one.DependsOn)
		items = append(items, one)
	}
	return unique(items)
}
