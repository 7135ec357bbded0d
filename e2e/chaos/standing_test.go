package chaos

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// standings are what must never be found (P3), by what it is. They are queried
// here apart from the server's own audit, which might be wrong in the same way
// as the server.
var standings = map[string]string{
	"a lease without a job at work": `SELECT j.key FROM job_lease l JOIN job j ON j.id = l.job_id
		WHERE j.status NOT IN ('assigned', 'running') OR j.epoch <> l.epoch`,
	"a job at work without a lease": `SELECT key FROM job j WHERE status IN ('assigned', 'running')
		AND NOT EXISTS (SELECT FROM job_lease l WHERE l.job_id = j.id)`,
	"a ready row of a job that is not ready": `SELECT j.key FROM job_ready r JOIN job j ON j.id = r.job_id
		WHERE j.status <> 'ready' OR j.lane_id <> r.lane_id OR j.priority <> r.priority`,
	"a ready job without a ready row": `SELECT key FROM job j WHERE status = 'ready'
		AND NOT EXISTS (SELECT FROM job_ready r WHERE r.job_id = j.id)`,
	"an open attempt without a lease": `SELECT j.key FROM attempt a JOIN job j ON j.id = a.job_id WHERE a.outcome = ''
		AND NOT EXISTS (SELECT FROM job_lease l WHERE l.job_id = a.job_id AND l.epoch = a.epoch)`,
	"a lease without an open attempt": `SELECT j.key FROM job_lease l JOIN job j ON j.id = l.job_id
		WHERE NOT EXISTS (SELECT FROM attempt a WHERE a.job_id = l.job_id AND a.epoch = l.epoch AND a.outcome = '')`,
	"a job completed before what it depends on": `SELECT j.key FROM job j JOIN job_dependency x ON x.job_id = j.id AND x.type = 'blocks'
		JOIN job d ON d.id = x.depends_on_id WHERE j.status = 'completed' AND (d.completed_at IS NULL OR d.completed_at > j.completed_at)`,
}

// standing queries all of them.
func (v *verdict) standing(ctx context.Context, conn *pgx.Conn) error {
	for what, sql := range standings {
		rows, _ := conn.Query(ctx, sql)
		keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if len(keys) > 0 {
			v.fault("there is %s: %v", what, keys)
		}
	}
	return nil
}
