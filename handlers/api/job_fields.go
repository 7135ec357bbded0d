package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
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
	return jobFieldsPage{NextCursor: page.NextCursor, Items: models(page.Items, func(j Job) map[string]any {
		whole, part := reflect.ValueOf(j), map[string]any{}
		for i := range whole.NumField() {
			name, _, _ := strings.Cut(whole.Type().Field(i).Tag.Get("json"), ",")
			if name == "id" || name == "key" || slices.Contains(fields, JobField(name)) {
				part[name] = whole.Field(i).Interface()
			}
		}
		return part
	})}
}
