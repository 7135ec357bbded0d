package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/blobs/s3/s3test"
)

// Where the disk of the backups is full, work goes on and the status says so; when there is room again the
// log goes on where it was. Where the server could not keep its log for so long, the archive begins anew,
// with a backup.
func TestAFullDiskOfBackupsStopsNobody(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	store := m.mount("store", "size=400m", 0)
	s := m.serve(map[string]string{"FLEETBOARD_BACKUP_URL": store})
	first := s.backupMade("")
	filler := filepath.Join(store, "filler")
	fillDisk := func() {
		file, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		block := make([]byte, 1<<20)
		for err == nil {
			_, err = file.Write(block)
		}
		_ = file.Close()
	}
	problem := func() string {
		is, err := backup.ReadStatus(s.dataDir)
		if err != nil {
			t.Fatal(err)
		}
		return is.Problem
	}
	fillDisk()
	s.create("while it is full")
	eventually(t, "the status says that the disk is full", func() bool { return strings.Contains(problem(), "is full") })
	at := s.create("still full")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.archivedUntil(store, at)
	eventually(t, "the status says that all is well", func() bool { return problem() == "" })
	m.run(map[string]string{"FLEETBOARD_DATA_DIR": m.path("restored")}, "restore", store, "--at", at.Format(time.RFC3339Nano)).
		wants(t, 0, "Restored the backup "+first)

	fillDisk()
	s.create("lost")
	eventually(t, "the status says that the disk is full", func() bool { return strings.Contains(problem(), "is full") })
	// As where the log has become larger than what is kept of it.
	eventually(t, "the slot is free", func() bool {
		return s.ask("SELECT (count(*) = 0)::text FROM pg_replication_slots WHERE active") == "true"
	})
	s.exec("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	second := s.backupMade(first)
	at = s.create("kept")
	s.archivedUntil(store, at)
	m.run(map[string]string{"FLEETBOARD_DATA_DIR": m.path("again")}, "restore", store).wants(t, 0, "Restored the backup "+second, "Nothing is missing")
}

// A bucket keeps backups and the log as a directory does.
func TestABucketKeepsBackups(t *testing.T) {
	t.Parallel()
	m, bucket := newMachine(t), s3test.Serve(t)
	m.env["AWS_ACCESS_KEY_ID"], m.env["AWS_SECRET_ACCESS_KEY"] = "key", "secret"
	s := m.serve(map[string]string{"FLEETBOARD_BACKUP_URL": bucket.Address(), "FLEETBOARD_BACKUP_PASSPHRASE_FILE": write(t, m.path("passphrase"), "correct horse")})
	s.backupMade("")
	at := s.create("first")
	last := s.create("second")
	s.archivedUntil(bucket.Address(), last)
	m.run(nil, "backup", bucket.Address()).wants(t, 0, "as far as the log is archived")
	m.run(map[string]string{"FLEETBOARD_DATA_DIR": m.path("restored")}, "restore", bucket.Address(), "--at", at.Format(time.RFC3339Nano)).
		wants(t, 0, "FB-2")
}

// What a backup has is a base backup like any other: PostgreSQL's own program finds it whole.
func TestPostgreSQLVerifiesABackup(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.serve(nil).create("one")
	store, unpacked := m.mkdir("store"), m.mkdir("unpacked")
	m.run(nil, "backup", store).wants(t, 0)
	var parts []io.Reader
	for _, path := range files(t, store) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		switch name := filepath.Base(path); {
		case strings.HasPrefix(name, "base.tar."):
			parts = append(parts, file)
		case strings.HasPrefix(name, "backup_manifest."):
			text, err := io.ReadAll(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(unpacked, "backup_manifest"), string(text))
		}
	}
	for in := tar.NewReader(io.MultiReader(parts...)); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(unpacked, head.Name)
		if head.FileInfo().IsDir() {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(text))
	}
	version, err := os.ReadFile(filepath.Join(unpacked, "PG_VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	program := "/usr/lib/postgresql/" + strings.TrimSpace(string(version)) + "/bin/pg_verifybackup"
	if said, err := exec.CommandContext(t.Context(), program, unpacked).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
