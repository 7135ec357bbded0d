package vitals

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
)

var q = dbsqlc.New()

// sampleTx reads PostgreSQL's counters.
func sampleTx(ctx context.Context, tx db.Tx) (Sample, error) {
	sample := Sample{At: time.Now()}
	age, err := q.DatabaseAge(ctx, tx)
	if err != nil {
		return sample, err
	}
	sample.OldestTransaction, sample.OldestSnapshot = seconds(age.OldestTransactionSeconds), seconds(age.OldestSnapshotSeconds)
	sample.SnapshotTransactions, sample.UnseenSessions = age.OldestSnapshotTransactions, age.UnseenSessions
	rows, err := q.TableVitals(ctx, tx)
	if err != nil {
		return sample, err
	}
	for _, r := range rows {
		sample.Tables = append(sample.Tables, Table(r))
	}
	return sample, nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
