package coordinator

import "context"

// analyzeGrown has PostgreSQL analyze the tables that have grown much since it did so last, so that
// its plans are not those of an empty queue when many jobs have come. It returns how many.
func (t *term) analyzeGrown(ctx context.Context) (int, error) {
	return analyzeGrownTables(ctx, t.db)
}
