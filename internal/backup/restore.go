package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/replication"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
)

// Request is what is to be restored, and where to.
type Request struct {
	From Store
	// At is the second as of which the database is restored; zero is as late as the backup and the
	// archived log go.
	At time.Time
	// DataDir is the directory of the embedded server. DatabaseURL names an empty database instead, for
	// a dump.
	DataDir     string
	DatabaseURL string
	// Secrets are the server's secret key, and earlier ones.
	Secrets [][]byte
	// Passphrase opens the secret key in the backup; used where Secrets are none.
	Passphrase string
	// WithoutKey restores although there is no secret key.
	WithoutKey bool
	// Schema is the newest that the program knows.
	Schema   int64
	Progress Progress
	Log      *slog.Logger
}

// Restored is a database that was restored. It is marked as unfinished until Finish.
type Restored struct {
	Manifest
	// URL is the owner's login.
	URL string
	// Secret is the server's secret key, nil where nobody has it.
	Secret []byte
	// Known is how far each log went when the archive last looked: what is beyond the restored is missing.
	Known []seal.End

	embedded *db.Embedded
	marker   *marker
}

// Restore restores a backup: it checks all its parts, writes them into an empty place, replays the
// archived log, and starts the server. The errors that are RefusedErrors left everything as it was.
func Restore(ctx context.Context, r Request) (*Restored, error) {
	done, err := r.choose(ctx)
	if err != nil {
		return nil, NotBegun(err)
	}
	if done.Kind == Dump {
		return done, r.restoreDump(ctx, done)
	}
	return done, r.restoreCluster(ctx, done)
}

// choose finds the backup, and refuses what cannot be restored here.
func (r Request) choose(ctx context.Context) (*Restored, error) {
	list, err := List(ctx, r.From)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(list, r.At)
	if err != nil {
		return nil, err
	}
	secret, err := r.secret(chosen)
	if err != nil {
		return nil, err
	}
	if chosen.Schema > r.Schema {
		return nil, refuse("the backup has schema %d and this program knows those up to %d: restore it with version %s, or a newer one",
			chosen.Schema, r.Schema, chosen.Product)
	}
	switch {
	case chosen.Kind == Dump && r.DatabaseURL == "":
		return nil, refuse("the backup is a dump: name an empty database for it in DATABASE_URL")
	case chosen.Kind == Cluster && r.DatabaseURL != "":
		return nil, refuse("the backup is the copy of an embedded database: unset DATABASE_URL and name an empty FLEETBOARD_DATA_DIR")
	case chosen.Kind == Cluster:
		if err := requireEmpty(r.DataDir); err != nil {
			return nil, err
		}
	}
	return &Restored{Manifest: chosen.Manifest, Secret: secret, Known: chosen.Logs}, nil
}

// secret returns the secret key that goes with a backup.
func (r Request) secret(f Found) ([]byte, error) {
	switch {
	case len(r.Secrets) > 0 && !signedBy(f.Signer, r.Secrets):
		return nil, refuse("the secret key is not the one of the server that made the backup %s: name that one in FLEETBOARD_SECRET_KEY, "+
			"or in FLEETBOARD_PREVIOUS_SECRET_KEY where it was changed since", f.ID)
	case len(r.Secrets) > 0:
		return r.Secrets[0], nil
	case f.Key != nil && r.Passphrase != "":
		secret, err := f.Key.open(r.Passphrase)
		if err == nil && !signedBy(f.Signer, [][]byte{secret}) {
			err = damaged(f.ID + "/" + manifestName)
		}
		return secret, err
	case r.WithoutKey:
		return nil, nil
	case f.Key != nil:
		return nil, refuse("name the file with the passphrase in FLEETBOARD_BACKUP_PASSPHRASE_FILE: the server's secret key is sealed in " +
			"the backup with it (or FLEETBOARD_SECRET_KEY itself)")
	}
	return nil, refuse("the backup has no secret key: name the server's in FLEETBOARD_SECRET_KEY, or, where it is lost, restore with " +
		"--without-key: secrets in jobs, second factors and the seals of the log are lost then")
}

func (r Request) restoreCluster(ctx context.Context, done *Restored) (err error) {
	log, err := r.archivedLog(ctx, done)
	if err == nil {
		err = check(ctx, r.From, done.Manifest, r.Progress)
	}
	if err == nil {
		err = log.check(ctx, r.Progress)
	}
	if err == nil {
		err = roomToRestore(r.DataDir, done.Size()+log.size())
	}
	if err == nil {
		done.marker, err = begin(r.DataDir, done.Manifest)
	}
	if err != nil {
		return NotBegun(err)
	}
	place, err := db.BeginRestore(ctx, r.DataDir, r.Log)
	if err != nil {
		return errors.Join(err, done.marker.remove())
	}
	if err := r.write(ctx, done, place, log); err != nil {
		if ctx.Err() != nil { // one that was stopped stays marked, and is begun again
			place.Leave()
			done.marker.leave()
			return err
		}
		return errors.Join(err, place.Abandon(ctx, r.Log), done.marker.remove())
	}
	if err := r.recover(ctx, done, place, log); err != nil {
		done.marker.leave()
		return err
	}
	return nil
}

// roomToRestore refuses a disk that has less space than so many bytes.
func roomToRestore(dataDir string, bytes int64) error {
	for dir := dataDir; ; dir = filepath.Dir(dir) {
		err := roomFor(dir, bytes)
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			continue // it is made
		}
		if err != nil {
			return refuse("the backup needs %d MB: %w", bytes>>20, err)
		}
		return nil
	}
}

// write writes the cluster and the log that follows.
func (r Request) write(ctx context.Context, done *Restored, place *db.Restoration, log *archivedLog) error {
	written, total := int64(0), done.Size()
	told := func(bytes int64) {
		written += bytes
		r.Progress("write", written, total)
	}
	if err := place.Unpack(readArchive(ctx, r.From, done.Manifest, replication.Archive, told)); err != nil {
		return err
	}
	manifest, err := io.ReadAll(readArchive(ctx, r.From, done.Manifest, replication.Manifest, told))
	if err != nil {
		return err
	}
	if err := place.Write(replication.Manifest, manifest); err != nil {
		return err
	}
	return log.write(ctx, place, r.Progress)
}

// recover replays the log and starts the server.
func (r Request) recover(ctx context.Context, done *Restored, place *db.Restoration, log *archivedLog) (err error) {
	progress := func(lsn string) { r.Progress("replay "+lsn, 0, 0) }
	r.Progress("replay", 0, 0) // it may end before anything is heard of it
	until := r.At
	if !log.reaches(until) {
		until = time.Time{} // choose has seen that it is the end of the backup
	}
	done.embedded, err = place.Recover(ctx, r.Log, until, progress)
	if errors.Is(err, db.ErrLogEnds) {
		// Nothing was committed between that second and the end of the log, which reaches beyond it.
		done.embedded, err = place.Recover(ctx, r.Log, time.Time{}, progress)
	}
	if err != nil {
		return err
	}
	done.URL = done.embedded.URL()
	return nil
}

// Finish takes the mark away and ends the server: from now on it is a database like any other.
func (d *Restored) Finish(ctx context.Context) error {
	if d.Kind == Dump {
		return db.FinishDump(ctx, d.URL)
	}
	if err := d.embedded.Stop(ctx); err != nil {
		d.marker.leave()
		return err
	}
	return d.marker.remove()
}

// Stop ends the server and leaves the mark.
func (d *Restored) Stop(ctx context.Context) error {
	if d.Kind == Dump {
		return nil
	}
	defer d.marker.leave()
	return d.embedded.Stop(ctx)
}
