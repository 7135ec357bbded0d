package backup

import (
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/db"
)

// restoreDump restores a dump into an empty database.
func (r Request) restoreDump(ctx context.Context, done *Restored) error {
	if !r.At.IsZero() {
		return refuse("a dump has one moment only, %s: leave --at out", stamp(done.Begun))
	}
	if err := check(ctx, r.From, done.Manifest, r.Progress); err != nil {
		return err
	}
	if err := db.PrepareDump(ctx, r.DatabaseURL, done.Owner); err != nil {
		var unfit *db.UnfitError
		if errors.As(err, &unfit) {
			return refuse("%s", unfit.Error())
		}
		return err
	}
	written, total := int64(0), done.Size()
	in := readArchive(ctx, r.From, done.Manifest, dumpArchive, func(bytes int64) {
		written += bytes
		r.Progress("write", written, total)
	})
	if err := db.RestoreDump(ctx, r.DatabaseURL, done.Major, in); err != nil {
		return errors.Join(err, db.FinishDump(context.WithoutCancel(ctx), r.DatabaseURL))
	}
	done.URL = r.DatabaseURL
	return nil
}
