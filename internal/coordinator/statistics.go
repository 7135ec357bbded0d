package coordinator

import "context"

// analyzeGrown has PostgreSQL count the tables that have outgrown what it knows of them, so
// that nothing is planned for an empty queue when a crowd has come. It returns how many.
func (t *term) analyzeGrown(ctx context.Context) (int, error) {
	return analyzeGrownTables(ctx, t.db)
}
