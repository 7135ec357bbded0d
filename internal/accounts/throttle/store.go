package throttle

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
)

var q = dbsqlc.New()

// countTx counts one attempt, or returns the seconds to wait.
func countTx(ctx context.Context, tx db.Tx, t counter) (wait int, err error) {
	_, err = q.LoginThrottleTake(ctx, tx, t.Subject, t.Free, t.MaxSeconds)
	if taken, err := db.Found(err); taken || err != nil {
		return 0, err
	}
	seconds, err := q.LoginThrottleWait(ctx, tx, t.MaxSeconds, t.Free, t.Subject)
	if found, err := db.Found(err); !found {
		// Forgotten between the two statements: the next attempt is free.
		return 1, err
	}
	return seconds, nil
}

// RightTx takes back what countTx counted, or all that was counted
// of a subject that starts afresh.
func RightTx(ctx context.Context, tx db.Tx, try Attempt) error {
	for _, t := range try {
		forget := q.LoginThrottleGiveBack
		if t.afresh {
			forget = q.LoginThrottleForget
		}
		if err := forget(ctx, tx, t.Subject); err != nil {
			return err
		}
	}
	return nil
}

// undoTx takes back an attempt that was never looked at.
func undoTx(ctx context.Context, tx db.Tx, try Attempt) error {
	for _, t := range try {
		if err := q.LoginThrottleGiveBack(ctx, tx, t.Subject); err != nil {
			return err
		}
	}
	return nil
}

// ExpireTx deletes counts of a day ago, at most so many.
func ExpireTx(ctx context.Context, tx db.Tx, rows int) error {
	_, err := q.LoginThrottleExpire(ctx, tx, rows)
	return err
}
