package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
)

// jobFieldsPage is the answer to ListJobs with parts of jobs.
type jobFieldsPage struct {
	Items      []map[string]any `json:"items"`
	NextCursor string           `json:"next_cursor"`
}

// VisitListJobsResponse writes the answer, as the generated ones do.
func (p jobFieldsPage) VisitListJobsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	return json.NewEncoder(w).Encode(p)
}

// partialJobs leaves id, key and the fields of each job.
func partialJobs(page JobPage, fields []JobField) jobFieldsPage {
	return jobFieldsPage{NextCursor: page.NextCursor, Items: mapSlice(page.Items, func(j Job) map[string]any {
		whole := reflect.ValueOf(j)
		part := map[string]any{"id": j.ID, "key": j.Key}
		for _, name := range fields {
			part[string(name)] = whole.FieldByIndex(jobParts[string(name)]).Interface()
		}
		return part
	})}
}

// jobParts are the fields of a Job by their names on the wire. Of two with one name the outer
// one counts, as for package json.
var jobParts = func() map[string][]int {
	parts := map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Job]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if known, taken := parts[name]; !taken || len(f.Index) < len(known) {
			parts[name] = f.Index
		}
	}
	return parts
}()
