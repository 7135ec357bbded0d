package importing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// bead is an issue as beads exports it.
type bead struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Design       string   `json:"design"`
	Notes        string   `json:"notes"`
	Acceptance   string   `json:"acceptance_criteria"`
	Status       string   `json:"status"`
	Priority     *int     `json:"priority"`
	IssueType    string   `json:"issue_type"`
	Estimate     *int     `json:"estimated_minutes"`
	CloseReason  string   `json:"close_reason"`
	DeletedAt    string   `json:"deleted_at"`
	DeleteReason string   `json:"delete_reason"`
	DeferUntil   string   `json:"defer_until"`
	IsTemplate   bool     `json:"is_template"`
	Labels       []string `json:"labels"`
	Dependencies []edge   `json:"dependencies"`
}

// edge is what an issue has to do with another one.
type edge struct {
	IssueID     string `json:"issue_id"`
	DependsOnID string `json:"depends_on_id"`
	Type        string `json:"type"`
}

// other returns the id of the other issue, empty where the edge is not one of the issue's own.
func (e edge) other(id string) string {
	if e.IssueID != "" && lineText(e.IssueID) != id {
		return ""
	}
	return lineText(e.DependsOnID)
}

// beadPriorities are the server's priorities for those of beads, where 0 is the most urgent.
var beadPriorities = []int{10, 8, 5, 3, 1}

// waitingEdges make an issue of beads wait for the other one.
var waitingEdges = []string{"", "blocks", "conditional-blocks", "waits-for"}

// Beads reads an export of beads, one issue a line.
func Beads(_ string, from io.Reader) ([]Item, error) {
	lines, err := readLines(from)
	if err != nil {
		return nil, err
	}
	var items []Item
	children := map[string][]string{} // the sources of an epic's issues, by its own
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
		one := b.item()
		one.Line = i + 1
		if b.Priority != nil {
			if *b.Priority < 0 || *b.Priority >= len(beadPriorities) {
				return nil, &LineError{i + 1, "must have a priority from 0 to 4"}
			}
			one.Priority = &beadPriorities[*b.Priority]
		}
		for _, parent := range b.others(id, "parent-child") {
			children["beads:"+parent] = append(children["beads:"+parent], one.Source)
		}
		items = append(items, one)
	}
	for i, one := range items {
		items[i].DependsOn = texts(append(one.DependsOn, children[one.Source]...))
	}
	return unique(items)
}

// item returns an issue by itself.
func (b bead) item() Item {
	id := lineText(b.ID)
	one := Item{Source: "beads:" + id, Title: lineText(b.Title), Body: b.body(id), Kind: lineText(b.IssueType),
		Tags: texts(b.Labels), EstimatedMinutes: b.Estimate, Acceptance: criteria(b.Acceptance)}
	for _, other := range b.others(id, waitingEdges...) {
		one.DependsOn = append(one.DependsOn, "beads:"+other)
	}
	switch status := lineText(b.Status); {
	case status == "tombstone" || b.DeletedAt != "":
		one.Done, one.Ending = true, because("deleted", b.DeleteReason)
	case status == "closed":
		one.Done, one.Ending = true, lineText(b.CloseReason)
	case b.IsTemplate || status == "pinned":
		one.Done, one.Ending = true, "no work: a template or a pinned note"
	case status == "" || status == "open":
	case status == "deferred" && b.DeferUntil != "":
		one.Held = "deferred until " + lineText(b.DeferUntil)
	default:
		one.Held = strings.ReplaceAll(status, "_", " ")
	}
	return one
}

// others returns the ids of the issues that an issue has edges of these types to.
func (b bead) others(id string, types ...string) []string {
	var list []string
	for _, d := range b.Dependencies {
		if to := d.other(id); to != "" && slices.Contains(types, d.Type) {
			list = append(list, to)
		}
	}
	return list
}

// body returns all text of an issue. What else it has to do with others stands at its end.
func (b bead) body(id string) string {
	parts := []string{bodyText(b.Description)}
	for _, part := range []struct{ title, text string }{{"Design", b.Design}, {"Notes", b.Notes}} {
		if text := bodyText(part.text); text != "" {
			parts = append(parts, "## "+part.title+"\n\n"+text)
		}
	}
	var links []string
	for _, d := range b.Dependencies {
		if to := d.other(id); to != "" && d.Type != "parent-child" && !slices.Contains(waitingEdges, d.Type) {
			links = append(links, fmt.Sprintf("- %s: %s", lineText(d.Type), to))
		}
	}
	if len(links) > 0 {
		parts = append(parts, "## Links\n\n"+strings.Join(links, "\n"))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// because returns what became of an issue, with the reason where it has one.
func because(what, reason string) string {
	if reason = lineText(reason); reason != "" {
		return what + ": " + reason
	}
	return what
}

// bullet is what stands before a criterion in a list.
var bullet = regexp.MustCompile(`^(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?`)

// criteria returns the lines of a text, without the signs of a list.
func criteria(text string) []string {
	var list []string
	for line := range strings.Lines(bodyText(text)) {
		list = append(list, bullet.ReplaceAllString(strings.TrimSpace(line), ""))
	}
	return texts(list)
}
