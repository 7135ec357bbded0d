package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/replication"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
)

// Server is the server that is backed up.
type Server struct {
	// URL is a login that may read everything. DB is the same database.
	URL string
	DB  *db.DB
	// Owner is the login that owns the database.
	Owner string
	// Embedded says that the cluster is the server's own: it can be restored with the program alone.
	Embedded bool
	// Product and Schema are the versions of the program and of the database.
	Product string
	Schema  int64
	// Secret is the server's secret key, under which backups are signed.
	Secret []byte
	// Passphrase seals the secret key in the backup; without one it is left out.
	Passphrase string
	// Bucket is where blobs are that are not in the database.
	Bucket string
}

// Take writes a backup while the server is used: of the embedded server a copy of its cluster, of
// another one a dump. What was written of one that fails is removed.
func Take(ctx context.Context, s Server, to *Target, progress Progress) (m Manifest, err error) {
	defer func() {
		if err != nil {
			if m.ID != "" {
				err = errors.Join(err, removeAll(context.WithoutCancel(ctx), to, m.ID))
			}
			to.Abandon()
		}
	}()
	if err := removeUnfinished(ctx, to, to.alone); err != nil {
		return m, err
	}
	m = Manifest{Format: format, ID: newID(time.Now()), Product: s.Product, Schema: s.Schema, Begun: time.Now().UTC().Truncate(time.Second),
		Bucket: s.Bucket}
	if s.Passphrase != "" {
		m.Key = sealKey(s.Secret, s.Passphrase)
	}
	if m.Logs, err = seal.Ends(ctx, s.DB); err != nil {
		return m, err
	}
	if m.PostgreSQL, m.Major, err = db.ServerVersion(ctx, s.URL); err != nil {
		return m, err
	}
	if s.Embedded {
		m.Kind = Cluster
		err = m.copyCluster(ctx, s, to, progress)
	} else {
		m.Kind = Dump
		err = m.dump(ctx, s, to, progress)
	}
	if err != nil {
		return m, err
	}
	m.Ended = time.Now().UTC().Add(time.Second).Truncate(time.Second) // not before the last of it
	text, err := sign(s.Secret, m)
	if err != nil {
		return m, err
	}
	// With its manifest it is a backup.
	if err := to.Put(ctx, m.ID+"/"+manifestName, text); err != nil {
		return m, err
	}
	return m, to.Finish()
}

// copyCluster adds the parts of a base backup.
func (m *Manifest) copyCluster(ctx context.Context, s Server, to *Target, progress Progress) error {
	conn, err := replication.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close()
	system, err := conn.Identify(ctx)
	if err != nil {
		return err
	}
	chain, err := chainAt(ctx, s.URL, to)
	if err != nil {
		return err
	}
	open := func(archive string) (io.WriteCloser, error) { return m.archive(ctx, to, archive), nil }
	base, err := conn.BaseBackup(ctx, "fleetboard "+m.ID, open, func(done, total int64) { progress("copy", done, total) })
	if err != nil {
		return fmt.Errorf("copy the cluster: %w", err)
	}
	m.Copy = &Copy{System: system.ID, Timeline: base.Timeline, SegmentSize: system.SegmentSize, Start: base.Start.String(),
		End: base.End.String(), Chain: chain}
	return nil
}

// dump adds the parts of a dump.
func (m *Manifest) dump(ctx context.Context, s Server, to *Target, progress Progress) (err error) {
	m.Owner = s.Owner
	out := m.archive(ctx, to, dumpArchive)
	counted := &counter{Writer: out, told: func(done int64) { progress("dump", done, 0) }}
	if err := db.Dump(ctx, s.URL, m.Major, counted); err != nil {
		return err
	}
	return out.Close()
}

const dumpArchive = "dump"

func (m *Manifest) archive(ctx context.Context, to *Target, name string) *partWriter {
	return &partWriter{ctx: ctx, store: to, id: m.ID, archive: name, list: &m.Parts}
}

// counter tells how many bytes were written.
type counter struct {
	io.Writer
	done int64
	told func(done int64)
}

// Write writes and counts.
func (c *counter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.done += int64(n)
	c.told(c.done)
	return n, err
}

// removeAll removes the files of a backup.
func removeAll(ctx context.Context, store Store, id string) error {
	names, err := store.List(ctx, id+"/")
	if err != nil {
		return err
	}
	// The manifest first: what is half removed is no backup.
	err = store.Remove(ctx, id+"/"+manifestName)
	for _, name := range names {
		if err == nil && !strings.HasSuffix(name, "/"+manifestName) {
			err = store.Remove(ctx, name)
		}
	}
	if errors.Is(err, errReadOnly) {
		return nil // the whole file goes
	}
	return err
}
