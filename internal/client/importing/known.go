package importing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// maxAnswer bounds what is read of an answer, in bytes; wholePage is how many jobs with their
// bodies a page has, namedPage how many without.
const (
	maxAnswer = 64 << 20
	wholePage = 50
	namedPage = 200
)

// keysIn returns the keys of the jobs of items, and of those that they depend on.
func keysIn(items []Item) []string {
	var keys []string
	for _, one := range items {
		keys = append(keys, MakeKey(one.Source))
		for _, source := range one.DependsOn {
			keys = append(keys, MakeKey(source))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// findJobs finds jobs by their keys.
func findJobs(ctx context.Context, to *api.Client, keys []string) (map[string]api.Job, error) {
	found := map[string]api.Job{}
	fields := []api.JobField{"key", "title", "body", "kind", "priority", "tags", "acceptance", "depends_on", "status", "version"}
	limit := wholePage
	for part := range slices.Chunk(keys, wholePage) {
		var page api.JobPage
		if err := read(&page)(to.ListJobs(ctx, &api.ListJobsParams{Key: &part, Fields: &fields, Limit: &limit})); err != nil {
			return nil, err
		}
		for _, job := range page.Items {
			found[job.Key] = job
		}
	}
	return found, nil
}

// goneFrom returns the keys of unfinished jobs that imports of the same sources have made, and
// that the items do not have. A job whose tag a person took away is no import's any more.
func goneFrom(ctx context.Context, to *api.Client, items []Item) ([]string, error) {
	here, tags, scopes := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, one := range items {
		here[MakeKey(one.Source)], tags[formatTag(one.Source)], scopes[sourceScope(onceKey(one.Source))] = true, true, true
	}
	var gone []string
	for tag := range tags {
		err := eachTagged(ctx, to, tag, func(job api.Job) {
			if !here[job.Key] && !isFinished(job.Status) && scopes[sourceScope(job.IdempotencyKey)] {
				gone = append(gone, job.Key)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// eachTagged calls do with the jobs that have a tag, the oldest first.
func eachTagged(ctx context.Context, to *api.Client, tag string, do func(api.Job)) error {
	limit, sort := namedPage, api.ListJobsParamsSort("age")
	fields := []api.JobField{"key", "status", "idempotency_key"}
	for cursor := (*string)(nil); ; {
		var page api.JobPage
		params := &api.ListJobsParams{Tag: &tag, Limit: &limit, Sort: &sort, Fields: &fields, Cursor: cursor}
		if err := read(&page)(to.ListJobs(ctx, params)); err != nil {
			return err
		}
		for _, job := range page.Items {
			do(job)
		}
		if page.NextCursor == "" {
			return nil
		}
		cursor = &page.NextCursor
	}
}

func isFinished(s api.JobStatus) bool {
	return s == api.JobStatusCompleted || s == api.JobStatusAborted || s == api.JobStatusArchived
}

// sourceScope returns what the sources of one file have in common: the repository of an issue, the
// name of a Markdown file, what stands before the last hyphen of a bead.
func sourceScope(source string) string {
	for _, mark := range []string{"#", "/issues/", "-"} {
		if at := strings.LastIndex(source, mark); at >= 0 {
			return source[:at]
		}
	}
	return source[:strings.LastIndex(source, ":")+1]
}

// read reads an answer.
func read(v any) func(*http.Response, error) error {
	return func(answer *http.Response, err error) error {
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(v); err != nil {
			return fmt.Errorf("the answer of the server is none of its API: %w", err)
		}
		return nil
	}
}
